// RUN: not tessera-translate --import-onnx %S/../e2e/models/digits.onnx 2>&1 | FileCheck %s --check-prefix=UNBOUND
// RUN: not tessera-translate --import-onnx --dim=M=4 %S/../e2e/models/digits.onnx 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not tessera-translate --import-onnx --dim=N %S/../e2e/models/digits.onnx 2>&1 | FileCheck %s --check-prefix=MALFORMED
// RUN: not tessera-translate --import-onnx %s 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: head -c 5000 %S/../e2e/models/digits.onnx > %t.onnx
// RUN: not tessera-translate --import-onnx %t.onnx 2>&1 | FileCheck %s --check-prefix=TRUNCATED

// UNBOUND: digits.onnx: input 'image': dimension 0 is the symbolic 'N', which nothing fixes; give --dim N=<size> or the input
// UNKNOWN: digits.onnx: --dim M=4: no such dimension; the model has N
// MALFORMED: --dim N: accepted is NAME=SIZE
// TEXT: onnx-errors.mlir: is no ONNX model
// TRUNCATED: .onnx: is no ONNX model, or not a whole one
