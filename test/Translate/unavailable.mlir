// What an architecture does not have, its objects cannot name.
// RUN: split-file %s %t
// RUN: not tessera-translate --isa-to-object --arch=tiny %t/engine.mlir 2>&1 | FileCheck %s --check-prefix=ENGINE
// RUN: not tessera-translate --isa-to-object --arch=%t/few.yaml %t/semaphore.mlir 2>&1 | FileCheck %s --check-prefix=WAIT
// RUN: not tessera-translate --isa-to-object --arch=%t/few.yaml %t/other.mlir 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: tessera-translate --isa-to-object --arch=%t/few.yaml %t/good.mlir | tessera-translate --object-to-isa | FileCheck %s --check-prefix=GOOD

//--- engine.mlir
isa.kernel @k args 0 {
  // ENGINE: error: k: {{.*}}engine.mlir:{{[0-9]+}}: signal: there is no queue mx1: the core has 1 matrix engine{{$}}
  isa.signal queue = mx1 signal(s0 += 1)
  isa.halt
}

//--- semaphore.mlir
isa.kernel @k args 0 {
  // WAIT: error: k: {{.*}}semaphore.mlir:{{[0-9]+}}: wait: there is no semaphore 8; accepted: 0 to 7
  isa.wait queue = seq wait(s0 >= 1, s8 >= 1)
  isa.halt
}

//--- other.mlir
isa.kernel @k args 0 {
  // OTHER: error: k: {{.*}}other.mlir:{{[0-9]+}}: signal.core: there is no semaphore 9; accepted: 0 to 7
  isa.signal.core queue = st, core = r0, sem = 9, count = 1
  isa.halt
}

//--- good.mlir
isa.kernel @k args 0 {
  // GOOD: isa.signal queue = mx2 signal(s7 += 1)
  isa.signal queue = mx2 signal(s7 += 1)
  // GOOD: isa.mma acc = t0, a = t1, b = t2, m_dims = [0], n_dims = [0], accumulate = no, ra = r0, queue = mx1
  isa.mma acc = t0, a = t1, b = t2, m_dims = [0], n_dims = [0], accumulate = no, ra = r0, queue = mx1
  isa.halt
}

//--- few.yaml
name: few
clock_ghz: 1.0
cores: {count: 1}
matrix: {rows: 8, cols: 8, count: 3, formats: {bf16: {macs_scale: 1}}}
vector: {lanes: 8, alu_slots: 1, sfu_lanes: 2}
spm: {bytes: 64 KiB, banks: 16, bank_width: 16}
acc: {bytes: 16 KiB}
semaphores: 8
dma: {burst_bytes: 64, outstanding: 64}
noc: {link_bytes: 32}
dram: {preset: DDR4-2400, channels: 1}
