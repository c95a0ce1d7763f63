#!/usr/bin/env python3
"""Measures what simulating costs the host; writes its sections of docs/performance.md.

  speed.py --dram-bench build/release/bin/dram-bench
           [--trace-bench build/release/bin/trace-bench]
           [--simulation-bench build/release/bin/simulation-bench OBJECT=ARCH …
            [--linear OBJECT=ARCH …]]
           [--output docs/performance.md]

Times are processor time of the simulating process, so that other work on the machine
matters little; memory is its largest resident size. OBJECT is a compiled model
(`tessera compile … -o OBJECT`) or an assembled kernel (`tessera-translate --isa-to-object`);
compiling is not measured.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

BEGIN = "<!-- simulator: begin, made by test/bench/simulator/speed.py -->"
END = "<!-- simulator: end -->"

# Timing set, pattern, mapping, transactions that come together.
DRAM = [("HBM2-2400", "seq", "native", 1), ("HBM2-2400", "seq", "native", 4),
        ("HBM2-2400", "seq", "native", 32), ("HBM2-2400", "seq", "bgi64", 1),
        ("HBM2-2400", "seq", "bgi64", 2), ("HBM2-2400", "rand", "native", 1),
        ("HBM2-2400", "seqmixo", "bgi64", 1), ("DDR4-3200", "seq", "native", 1),
        ("DDR4-3200", "seq", "native", 16), ("DDR4-3200", "seq", "bgi", 1),
        ("DDR4-3200", "rand", "native", 1)]
TRANSACTIONS = 1_000_000
REPETITIONS = 5  # Of an object's run; the fastest counts.


def run(command):
    """Processor seconds and peak memory in MB of a command that must succeed."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    errors = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{command[0]} failed: {errors.strip()}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def dram_table(bench):
    lines = ["| timings | pattern | mapping | run | transactions | processor, s | million/s | memory, MB |",
             "|---|---|---|--:|--:|--:|--:|--:|"]
    for timings, pattern, mapping, atoms in DRAM:
        # Linear in work: the streaming row also at a quarter and four times.
        sizes = [TRANSACTIONS]
        if (timings, pattern, mapping, atoms) == ("HBM2-2400", "seq", "bgi64", 1):
            sizes = [TRANSACTIONS // 4, TRANSACTIONS, TRANSACTIONS * 4]
        for size in sizes:
            seconds, memory = run([bench, "--dram", timings, "--pattern", pattern, "--mapping",
                                   mapping, "--transactions", str(size),
                                   *(["--run", str(atoms)] if atoms != 1 else [])])
            lines.append(f"| {timings} | {pattern} | {mapping} | {atoms} | {size:,} | {seconds:.2f} | "
                         f"{size / seconds / 1e6:.1f} | {memory:.0f} |")
    return lines


def trace_table(bench):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        run([bench, f"--benchmark_out={file.name}", "--benchmark_out_format=json",
             "--benchmark_repetitions=5", "--benchmark_report_aggregates_only=true"])
        results = {result["name"]: result for result in
                   json.loads(pathlib.Path(file.name).read_text())["benchmarks"]}
    record, encode = results["record_median"], results["encode_median"]
    return ["| tracing (`trace-bench`, median of five) | |", "|---|--:|",
            f"| recording, on the simulation's path | {1e9 / record['items_per_second']:.1f} ns an event |",
            f"| encoding, on another thread | {encode['items_per_second'] / 1e6:.1f} million events/s |",
            f"| size | {encode['bytes_per_event']:.1f} bytes an event |"]


def least_time(bench, path, arch, mode, executions=None, repetitions=REPETITIONS):
    """The first run's figures, the least processor seconds of some runs, and peak memory in MB."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        _, memory = run([bench, path, arch, *([str(executions)] if executions else []),
                         f"--benchmark_filter={mode}",
                         f"--benchmark_repetitions={repetitions}",
                         f"--benchmark_out={file.name}", "--benchmark_out_format=json"])
        results = json.loads(pathlib.Path(file.name).read_text())["benchmarks"]
    single = [r for r in results if r.get("run_type") == "iteration"]
    return single[0], min(r["cpu_time"] for r in single) / 1e3, memory


def object_table(bench, objects, timing_only):
    lines = ["| object | architecture | cycles | DRAM transactions | network hops | with values, s | "
             "timing only, s | million core-cycles/s | million transactions/s | million hops/s | "
             "memory of the process, MB |", "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"]
    for text in objects:
        path, _, arch = text.rpartition("=")
        functional = "–"
        if not timing_only:
            functional = f"{least_time(bench, path, arch, 'functional')[1]:.3f}"
        run, seconds, memory = least_time(bench, path, arch, "timing_only")
        lines.append(f"| {pathlib.Path(path).stem} | `{arch}` | {run['cycles']:,.0f} | "
                     f"{run['transactions']:,.0f} | {run['hops']:,.0f} | {functional} | {seconds:.3f} | "
                     f"{run['core_cycles'] / seconds / 1e6:.1f} | "
                     f"{run['transactions'] / seconds / 1e6:.1f} | "
                     f"{run['hops'] / seconds / 1e6:.1f} | {memory:.0f} |")
    return lines


def linear_table(bench, objects):
    """The same work once, four and sixteen times over, on one device."""
    lines = ["| object | architecture | executions | cycles each | timing only, s | s each | "
             "memory of the process, MB |", "|---|---|--:|--:|--:|--:|--:|"]
    for text in objects:
        path, _, arch = text.rpartition("=")
        for executions in (1, 4, 16):
            run, seconds, memory = least_time(bench, path, arch, "timing_only", executions,
                                              2 if executions == 16 else REPETITIONS)
            lines.append(f"| {pathlib.Path(path).stem} | `{arch}` | {executions} | "
                         f"{run['cycles']:,.0f} | {seconds * executions:.3f} | {seconds:.3f} | "
                         f"{memory:.0f} |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dram-bench", required=True)
    parser.add_argument("--trace-bench")
    parser.add_argument("--simulation-bench")
    parser.add_argument("objects", nargs="*", metavar="OBJECT=ARCH")
    parser.add_argument("--linear", nargs="+", default=[], metavar="OBJECT=ARCH",
                        help="objects to execute once, four and sixteen times in a row")
    parser.add_argument("--timing-only", action="store_true",
                        help="leave out the runs that compute values, which take long for models")
    parser.add_argument("--build", default="release", help="what the programs are, for the text")
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    if bool(options.objects or options.linear) != bool(options.simulation_bench):
        parser.error("objects and --simulation-bench go together")
    section = [BEGIN, "## What simulating costs", "",
               f"Processor time of one host core ({options.build} build).",
               "Made by `test/bench/simulator/speed.py`.", "",
               "DRAM channels alone (`dram-bench`, one transaction is 32 bytes on HBM2, 64 on DDR4; a run "
               "is what comes together, `--run`):",
               ""]
    section += dram_table(options.dram_bench)
    if options.objects:
        section += ["", "Whole devices, `simulation-bench` with objects; a rate is that without values:",
                    ""]
        section += object_table(options.simulation_bench, options.objects,
                                options.timing_only)
    if options.linear:
        section += ["", "The same object once, four and sixteen times on one device:", ""]
        section += linear_table(options.simulation_bench, options.linear)
    if options.trace_bench:
        section += [""] + trace_table(options.trace_bench)
    section.append(END)
    text = "\n".join(section) + "\n"
    if not options.output:
        print(text)
        return
    page = options.output.read_text() if options.output.exists() else "# Performance\n\n"
    if BEGIN in page and END in page:
        start, end = page.index(BEGIN), page.index(END) + len(END) + 1
        page = page[:start] + text + page[end:]
    else:
        page = page.rstrip("\n") + "\n\n" + text
    options.output.write_text(page)


if __name__ == "__main__":
    main()
