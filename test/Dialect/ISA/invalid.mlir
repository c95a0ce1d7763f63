// RUN: tessera-opt %s -split-input-file -verify-diagnostics

isa.kernel @k args 0 {
  // expected-error @below {{expected r0 to r31}}
  isa.add rd = r32, ra = r0, rb = r0
}

// -----

isa.kernel @k args 0 {
  // expected-error @below {{expected t0 to t31}}
  isa.load dst = r1, src = t0
}

// -----

isa.kernel @k args 0 {
  // expected-error @below {{expected one of seq, ld, st, mx, vx, mx1, mx2, mx3, mx4, mx5, mx6, mx7}}
  isa.wait queue = dma
}

// -----

isa.kernel @k args 0 {
  // expected-error @below {{expected one of mx, mx1, mx2, mx3, mx4, mx5, mx6, mx7}}
  isa.mma acc = t2, a = t0, b = t1, m_dims = [0], n_dims = [0], accumulate = no, ra = r0, queue = vx
}

// -----

isa.kernel @k args 0 {
  // expected-error @below {{expected 'ra'}}
  isa.add rd = r1, rb = r0, ra = r0
}

// -----

isa.kernel @k args 0 {
  // expected-error @below {{expected different dimensions from 0 to 5}}
  isa.mma acc = t0, a = t0, b = t0, m_dims = [6], n_dims = [], accumulate = no, ra = r0
}

// -----

isa.kernel @k args 0 {
  // expected-error @below {{fill: value = 4294967296 does not fit; accepted: 0 to 4294967295}}
  isa.fill dst = t0, value = 4294967296
}

// -----

isa.kernel @k args 0 {
  // expected-error @below {{jump: offset = 2147483648 does not fit}}
  isa.jump offset = 2147483648
}

// -----

isa.kernel @k args 0 {
  // expected-error @below {{names semaphore 1 with count 1024}}
  isa.load dst = t0, src = t0 signal(s1 += 1024)
}

// -----

isa.kernel @k args 0 {
  // expected-error @below {{load: wait names s1 twice}}
  isa.load dst = t0, src = t0 wait(s1 >= 1, s1 >= 2)
}

// -----

isa.kernel @k args 0 {
  // expected-error @below {{has 8 numbers in 'waits'; accepted: up to 3 pairs}}
  isa.load dst = t0, src = t0 wait(s1 >= 1, s2 >= 1, s3 >= 1, s4 >= 1)
}

// -----

isa.kernel @k args 0 {
  // expected-error @below {{cannot carry a signal}}
  isa.wait queue = mx signal(s1 += 1)
}

// -----

isa.kernel @k args 0 {
  // expected-note @below {{first waited for here}}
  isa.wait queue = ld wait(s1 >= 1)
  // expected-error @below {{waits for semaphore 1 in queue mx, and queue ld waits for it too}}
  isa.wait queue = mx wait(s1 >= 1)
}

// -----

// expected-error @below {{'isa.halt' op expects parent op to be one of 'isa.kernel, isa.loop, isa.loopr'}}
isa.halt

// -----

isa.kernel @k args 1 {
  isa.ldarg rd = r0, index = 0
  // expected-error @below {{names argument 1; there are 1}}
  isa.ldarg rd = r0, index = 1
}

// -----

isa.kernel @k args 0 {
  isa.descriptor spm f32 [8] strides [1] base 0
  // expected-error @below {{names descriptor 1; there are 1}}
  isa.td.load td = t0, index = 1
}

// -----

isa.map_program @p inputs 0 outputs [r0] {
  const r0, 0
}
isa.kernel @k args 0 {
  // expected-error @below {{names map program 1; there are 1}}
  isa.map program = 1, out0 = t0, out1 = t0, in0 = t0, in1 = t0, in2 = t0, in3 = t0, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0
}

// -----

isa.kernel @k args 0 {
  isa.halt
  // expected-error @below {{must stand before the instructions}}
  isa.descriptor spm f32 [8] strides [1] base 0
}

// -----

isa.kernel @k args 0 {
  isa.halt
  // expected-error @below {{is no instruction and no descriptor}}
  %0 = arith.constant 0 : index
}

// -----

// expected-error @below {{has no instruction}}
isa.kernel @k args 0 {
  isa.descriptor spm f32 [8] strides [1] base 0
}

// -----

isa.kernel @k args 0 {
  isa.halt
  // expected-error @below {{goes to instruction 2; the program has 2}}
  isa.jump offset = 1
}

// -----

isa.kernel @k args 0 {
  isa.loop rd = r0, count = 2 {
    // expected-error @below {{goes to instruction 2, which is not in the same loop body}}
    isa.jump offset = 1
  }
  isa.halt
}

// -----

isa.kernel @k args 0 {
  // expected-error @below {{goes to instruction 2, which is not in the same loop body}}
  isa.jump offset = 2
  isa.loop rd = r0, count = 2 {
    isa.mark id = 0
  }
}

// -----

isa.kernel @k args 0 {
  // expected-error @below {{has an empty body}}
  isa.loopr rd = r0, ra = r1 {
  }
}

// -----

isa.kernel @k args 0 {
  // expected-error @below {{has the count 0}}
  isa.loop rd = r0, count = 0 {
    isa.mark id = 0
  }
}

// -----

isa.kernel @k args 0 {
  isa.loop rd = r0, count = 2 {
    isa.loop rd = r0, count = 2 {
      isa.loop rd = r0, count = 2 {
        isa.loop rd = r0, count = 2 {
          isa.loop rd = r0, count = 2 {
            isa.loop rd = r0, count = 2 {
              // expected-error @below {{is nested 7 deep; accepted: up to 6}}
              isa.loop rd = r0, count = 2 {
                isa.mark id = 0
              }
            }
          }
        }
      }
    }
  }
}

// -----

isa.kernel @k args 0 {
  // expected-error @below {{has 2 extents and 1 strides}}
  isa.descriptor spm f32 [8, 8] strides [1] base 0
  isa.halt
}

// -----

isa.kernel @k args 0 {
  // expected-error @below {{has the extent 0}}
  isa.descriptor spm f32 [0] strides [1] base 0
  isa.halt
}

// -----

isa.kernel @k args 0 {
  // expected-error @below {{unknown format 'f64'}}
  isa.descriptor spm f64 [8] strides [1] base 0
  isa.halt
}

// -----

// expected-error @below {{operation 0 (addf): reads r1, which was never written}}
isa.map_program @p inputs 1 outputs [r2] {
  addf r2, r0, r1
}

// -----

isa.map_program @p inputs 1 outputs [r2] {
  // expected-error @below {{unknown lane operation 'frob'}}
  frob r2, r0
}

// -----

// expected-error @below {{5 inputs; accepted: 0 to 4}}
isa.map_program @p inputs 5 outputs [r0] {
}

// -----

isa.kernel @k args 0 {
  // expected-error @below {{expected one of sum, max, min, prod}}
  isa.scan kind = argmax, dst = t0, total = t0, src = t0, dims = [0], accumulate = no, ra = r0
}

// -----

isa.kernel @k args 0 {
  // expected-error @below {{expected one of sum, max, min, prod, argmax, argmin}}
  isa.reduce kind = none, dst = t0, indices = t0, src = t0, dims = [0], accumulate = no, ra = r0, rb = r0
}

// -----

isa.kernel @k args 0 {
  // expected-error @below {{expected one of nearest, zero, down, up}}
  isa.convert dst = t0, src = t0, scale = t0, zero = t0, rounding = even
}
