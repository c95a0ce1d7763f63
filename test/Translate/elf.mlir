// Ordinary ELF tools open an object and have nothing to complain about.
//
// RUN: tessera-translate --isa-to-object %s -o %t.tsr
// RUN: readelf -aW %t.tsr 2>&1 | FileCheck %s --check-prefix=READELF --implicit-check-not=arning --implicit-check-not=rror
// RUN: objdump -h %t.tsr 2>&1 | FileCheck %s --check-prefix=OBJDUMP --implicit-check-not=arning --implicit-check-not=rror

// READELF: Type: {{ *}}REL (Relocatable file)
// READELF: .text.first {{ *}}PROGBITS
// READELF: .tsr.desc.first {{ *}}PROGBITS
// READELF: '.rela.tsr.records' at offset {{.*}} contains 6 entries
// READELF: Symbol table '.symtab'
// READELF: FUNC {{ *}}GLOBAL DEFAULT {{ *[0-9]+}} first
// READELF: FUNC {{ *}}GLOBAL DEFAULT {{ *[0-9]+}} second
// READELF: notes found in: .note.tessera

// OBJDUMP: file format elf64-little
// OBJDUMP: .text.first {{ *}}00000010
// OBJDUMP: .text.second {{ *}}00000020

isa.kernel @first args 0 {
  isa.halt
}
isa.kernel @second args 0 {
  isa.mark id = 1
  isa.halt
}
