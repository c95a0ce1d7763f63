#!/usr/bin/env bash
# Installs, builds and runs every test: GoogleTest, lit, end to end, and the
# LLVM-free parts again under AddressSanitizer and UBSan, the scenarios with host
# threads also under ThreadSanitizer. Closes with the line
# "N passed, N failed"; exit status 1 if anything failed.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh
tools/build.sh release
tools/build.sh asan unit-tests
tools/build.sh tsan conformance-tests
exec /usr/bin/python3 test/run_tests.py --preset release --sanitizer-preset asan \
  --thread-preset tsan "$@"
