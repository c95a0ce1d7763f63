// RUN: tessera-opt %s -verify-lowered-to-isa -split-input-file -verify-diagnostics

// expected-error @+1 {{'func.func' is not lowered to instructions}}
func.func private @stray()

// -----

isa.kernel @k args 2 {
  isa.halt
}
device.program @main inputs [] outputs [] {
  %a = device.alloc : !device.buffer<16>
  // expected-error @+1 {{gives 1 buffers to 'k', which takes 2}}
  device.dispatch @k(%a) cores = [1, 1] nodes = [] : !device.buffer<16>
  device.return
}
