#!/usr/bin/env bash
# tools/build.sh PRESET [TARGET...]: configures and builds a CMake preset into
# build/PRESET, quietly unless something fails.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:?usage: tools/build.sh PRESET [TARGET...]}
shift
mkdir -p build
log=build/$preset-build.log
echo "Building preset '$preset' (log: $log)"
if ! cmake --preset "$preset" >"$log" 2>&1; then
  tail -n 40 "$log" >&2
  echo "error: configuring preset '$preset' failed" >&2
  exit 1
fi
if ! cmake --build "build/$preset" ${1+--target "$@"} >>"$log" 2>&1; then
  grep -E 'error|FAILED|undefined' "$log" | head -n 40 >&2 || tail -n 40 "$log" >&2
  echo "error: building preset '$preset' failed" >&2
  exit 1
fi
