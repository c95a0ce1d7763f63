#!/usr/bin/env bash
# From a fresh machine to the first answer: installs what is missing, builds, and
# runs a trained digits classifier on its 360 held-out images on the simulated
# `edge` accelerator, checked against the host.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh
tools/build.sh release tessera
mkdir -p build/quickstart
build/release/bin/tessera run test/e2e/models/digits.onnx --arch "${1:-edge}" \
  --inputs third_party/digits/inputs --outputs build/quickstart/outputs \
  --verify --json build/quickstart/report.json
echo "Outputs: build/quickstart/outputs   JSON: build/quickstart/report.json"
