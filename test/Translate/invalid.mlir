// RUN: not tessera-translate --object-to-isa %s 2>&1 | FileCheck %s --check-prefix=FOREIGN
// RUN: not tessera-translate --isa-to-object --arch=none %s 2>&1 | FileCheck %s --check-prefix=ARCH
// RUN: tessera-translate --isa-to-object %s -o %t.tsr
// RUN: head -c 1000 %t.tsr > %t.cut
// RUN: not tessera-translate --object-to-isa %t.cut 2>&1 | FileCheck %s --check-prefix=CUT

// FOREIGN: no ELF magic; this is not an object file
// ARCH: error: {{.*}}none
// CUT: the checksum is wrong; the file is damaged
isa.kernel @k args 0 {
  isa.halt
}
