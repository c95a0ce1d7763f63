// RUN: tessera-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{has 1 inputs and 0 outputs, but 0 block arguments}}
device.program @main inputs [#device.tensor<"x" : "f32", [4]>] outputs [] {
  device.return
}

// -----

// expected-error @+1 {{block argument 0 must be a !device.buffer}}
device.program @main inputs [#device.tensor<"x" : "f32", [4]>] outputs [] {
^bb0(%x: i32):
  device.return
}

// -----

device.program @main inputs [] outputs [] {
  // expected-error @+1 {{has 16 bytes of elements, but its buffer 12}}
  %w = device.constant dense<0.0> : tensor<4xf32> : !device.buffer<12>
  device.return
}

// -----

device.program @main inputs [] outputs [] {
  // expected-error @+1 {{elements of type 'i1' are not whole bytes}}
  %w = device.constant dense<true> : tensor<8xi1> : !device.buffer<1>
  device.return
}

// -----

device.program @main inputs [] outputs [] {
  // expected-error @+1 {{offset 4 is not a multiple of 64, 0 or more}}
  %a = device.alloc at 4 : !device.buffer<16>
  device.return
}

// -----

device.program @main inputs [] outputs [] {
  // expected-error @+1 {{dispatches @missing, which the module does not define}}
  device.dispatch @missing() cores = [1, 1] nodes = []
  device.return
}

// -----

func.func private @k()
device.program @main inputs [] outputs [] {
  // expected-error @+1 {{cores must be a width and a height of 1 to 255}}
  device.dispatch @k() cores = [0, 1] nodes = []
  device.return
}

// -----

device.program @main inputs [] outputs [] {
  %a = device.alloc : !device.buffer<16>
  %b = device.alloc : !device.buffer<32>
  // expected-error @+1 {{copies 16 bytes to a buffer of 32}}
  device.copy %a to %b : !device.buffer<16> to !device.buffer<32>
  device.return
}

// -----

device.program @main inputs [] outputs [] {
  %a = device.alloc : !device.buffer<6>
  // expected-error @+1 {{fills whole 32-bit words, but the buffer has 6 bytes}}
  device.fill %a, 0 : !device.buffer<6>
  device.return
}

// -----

device.program @main inputs [] outputs [] {
  // expected-error @+1 {{a buffer has 0 to 2^48 - 1 bytes, not 281474976710656}}
  %a = device.alloc : !device.buffer<281474976710656>
  device.return
}

// -----

device.program @main inputs [] outputs [] {
  // expected-error @+1 {{is not a device operation; a device.program holds only these}}
  %c = arith.constant 1 : i32
  device.return
}
