#!/usr/bin/env python3
"""Runs runtime-bench and allocator-bench and writes their tables into docs/performance.md.

    test/bench/runtime/tables.py build/release/bin [--note TEXT]

Replaces what stands between the markers `<!-- runtime -->`; makes page and section
where they are missing. Exit status 1 if a figure misses its target by more than a
tenth, so that it can be used as a gate on a quiet machine.
"""

import argparse
import json
import pathlib
import platform
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- runtime -->", "<!-- end of runtime -->"


def measure(folder, seconds):
    result = subprocess.run(
        [folder / "runtime-bench", "--benchmark_format=json", "--benchmark_repetitions=9",
         f"--benchmark_min_time={seconds}", "--benchmark_enable_random_interleaving=true"],
        capture_output=True, text=True, check=True)
    found = {}
    for run in json.loads(result.stdout)["benchmarks"]:
        if run.get("run_type") != "iteration":
            continue
        if run.get("error_occurred"):
            sys.exit(f"error: {run['name']}: {run['error_message']}")
        name = run["run_name"].split("/repeats")[0]
        scale = {"ns": 1.0, "us": 1e3, "ms": 1e6}[run["time_unit"]]
        value = run["ns"] if "ns" in run else run["cpu_time"] * scale
        found.setdefault(name, []).append(value)
    return {name: statistics.median(values) for name, values in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("--note", default="", help="a sentence on the circumstances")
    parser.add_argument("--seconds", type=float, default=0.2, help="of each repetition")
    args = parser.parse_args()
    ns = measure(args.bin, args.seconds)
    per_dispatch = (ns["rebind/1024"] - ns["rebind/64"]) / 960
    rows = [
        ("record a packet that is encoded already", ns["record/encoded"], 20),
        ("record a dispatch, checked", ns["record/dispatch"], 45),
        ("record a copy, checked", ns["record/copy"], 45),
        ("replay: submit a command buffer with new bindings", ns["replay"], 1000),
        ("replay: each dispatch in it that takes a binding", per_dispatch, 2.5),
        ("submit a fill, with doorbell", ns["submit/fill"], 150),
        ("submit a fill that signals", ns["submit/signalled"], 150),
        ("submit a dispatch", ns["submit/dispatch"], 150),
        ("device, context, queue and buffers from nothing", ns["start"], 1e8),
    ]
    lines = ["| what | ns | target |", "|---|---|---|"]
    missed = []
    for text, value, target in rows:
        lines.append(f"| {text} | {value:,.1f} | ≤ {target:,g} |")
        if value > 1.1 * target:
            missed.append(text)
    cpu = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo")
                if line.startswith("model name")), platform.processor())
    allocations = ROOT / "test" / "bench" / "runtime" / "allocations.txt"
    placement = subprocess.run([args.bin / "allocator-bench", allocations], capture_output=True,
                               text=True, check=True).stdout.strip()
    section = "\n".join([BEGIN, "", *lines, "",
                         f"One thread of {cpu}; processor time, the median of nine repetitions. "
                         f"{args.note}".strip(), "",
                         "Physical memory of a device that serves two models whose requests come and go",
                         "(`allocator-bench` on `allocations.txt`, which `make-allocations.py` makes from the",
                         "sizes of their tensors): the least space in which everything fits.",
                         "", placement, "", END])
    text = PAGE.read_text() if PAGE.exists() else "# Performance\n"
    if BEGIN in text:
        text = re.sub(re.escape(BEGIN) + ".*?" + re.escape(END), lambda _: section, text,
                      flags=re.S)
    else:
        text += ("\n## The runtime on the host\n\nOn the null device, apart from simulated time; made by "
                 "`test/bench/runtime/tables.py`.\n\n" + section + "\n")
    PAGE.write_text(text)
    print("\n".join(lines))
    for text in missed:
        print(f"misses its target: {text}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
