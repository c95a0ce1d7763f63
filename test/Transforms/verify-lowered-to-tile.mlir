// RUN: tessera-opt %s -verify-lowered-to-tile -verify-diagnostics

tile.kernel @stray(%x: memref<4xf32, #tile.space<dram>>) {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{'memref.load' is not an operation of the tile level}}
  %v = memref.load %x[%c0] : memref<4xf32, #tile.space<dram>>
  tile.return
}

// expected-error@+1 {{'func.func' is not an operation of the tile level}}
func.func private @left()
