#!/usr/bin/env bash
# Writes the generated pages of docs/ (or of the folder given as argument) from
# their single sources: dialects and passes from TableGen, the instruction
# reference from the instruction table.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-docs}
llvm_bin=/usr/lib/llvm-22/bin
include=(-I/usr/lib/llvm-22/include -I. -Iinclude)
mkdir -p "$out/dialects"

# Pages have one title; generators start at different levels.
dialect_page() { # Name prefix
  "$llvm_bin/mlir-tblgen" -gen-dialect-doc -dialect="$2" "${include[@]}" "dialects/$1/$1Ops.td" \
    > "$out/dialects/$2.md"
}
dialect_page Graph graph
dialect_page Tile tile
dialect_page Device device
dialect_page ISA isa
dialect_page Check check

{
  echo "# Passes"
  echo
  echo "By phase: graph, tile, then instructions and command stream. lib/Pipelines/Pipelines.cpp has the order in which they run."
  for file in include/tessera/Transforms/GraphPasses.td include/tessera/Transforms/Passes.td \
              include/tessera/Conversion/Passes.td; do
    echo
    "$llvm_bin/mlir-tblgen" -gen-pass-doc "${include[@]}" "$file"
  done
} > "$out/passes.md"
