#!/usr/bin/env python3
"""Compiles and simulates the benchmark workloads; writes a section of docs/performance.md.

Every number comes from the reports that `tessera run --json` wrote:

  performance.py --tessera build/release/bin/tessera [--arch NAME …] [--only TEXT …]
                 [--reports FOLDER] [--timeout SECONDS] [--output docs/performance.md]

Reports that are already in the folder are kept, so a run can go on where an
earlier one ended; remove them after a change of the compiler or the simulator.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import workloads

ROOT = pathlib.Path(__file__).resolve().parents[3]
BEGIN = "<!-- mapping: begin, made by test/bench/models/performance.py -->"
END = "<!-- mapping: end -->"
SMALLEST_BOUND = 20000  # Cycles; below, latencies weigh more than work.
TITLE = "# Performance\n"


def simulate(options, arch, model, report):
    """None, or what went wrong."""
    try:
        result = subprocess.run(
            [options.tessera, "run", model, "--arch", arch, "--timing-only", "--json", report],
            capture_output=True, text=True, timeout=options.timeout)
    except subprocess.TimeoutExpired:
        report.unlink(missing_ok=True)
        return f"took more than {options.timeout} s to simulate"
    if result.returncode != 0:
        report.unlink(missing_ok=True)
        return (result.stderr.strip().splitlines() or ["failed"])[0]
    return None


def main_loss(report):
    """What the engine that limits the run waits for most, and for which part of its time."""
    engine = {"dram": "load"}.get(report["bound"]["limiter"], "matrix")
    if report["bound"]["limiter"] == "vector":
        engine = "vector"
    causes = dict(report["engines"][engine])
    total = sum(causes.values())
    for useful in ("busy", "dram"):
        if useful == "busy" or engine == "load":
            causes.pop(useful, None)
    cause = max(causes, key=causes.get)
    return f"{cause} {100 * causes[cause] / total:.0f} %" if causes[cause] else "–"


def expectation(report):
    """By how much the mapper's estimate of all kernels is off."""
    planned = [(dispatch["mapping"]["expected_cycles"] * dispatch["runs"],
                dispatch["kernel_cycles"])
               for dispatch in report["dispatches"] if dispatch["mapping"]]
    expected, simulated = (sum(column) for column in zip(*planned))
    return f"{100 * (expected / simulated - 1):+.0f} %"


def cells(report):
    if isinstance(report, str):
        return ["–"] * 6
    bound = report["bound"]
    return [f"{bound['cycles']:,}", f"{report['cycles']:,}", f"{bound['efficiency']:.3f}",
            bound["limiter"], main_loss(report), expectation(report)]


def table(arch, element, results):
    """The lines about one architecture."""
    lines = [f"### {arch}", "",
             "| workload | bound | cycles | efficiency | limited by | largest loss | expected |",
             "|---|---|---|---|---|---|---|"]
    product, count, missing = 1.0, 0, []
    for name, report in results:
        lines.append(f"| {name} | " + " | ".join(cells(report)) + " |")
        if isinstance(report, str):
            missing.append(f"{name} ({report})")
        elif report["bound"]["cycles"] >= SMALLEST_BOUND:
            product *= report["bound"]["efficiency"]
            count += 1
    if count:
        lines += ["", f"Geometric mean of the {count} workloads with a bound of at least "
                  f"{SMALLEST_BOUND:,} cycles: **{product ** (1 / count):.3f}**."]
    if missing:
        lines += ["", "Not measured: " + "; ".join(missing) + "."]
    return lines + [""]


def section(architectures, element, results):
    lines = [BEGIN, "## Mapping", "",
             f"Models in {element}. `efficiency` is `bound.efficiency` of docs/report.md: the floor",
             "that operators and architecture set, divided by the simulated cycles. The largest loss",
             "is the cause of docs/timing.md that takes most of the limiting engine's time, over all",
             "cores, beside its work. `expected` says by how much the mapper's estimate of the",
             "kernels' cycles (`--explain`) is off.", ""]
    for arch in architectures:
        lines += table(arch, element, [(name, reports[arch]) for name, reports in results])
    return "\n".join(lines) + END


def replace_section(text, new):
    """The page with its mapping section replaced, or added at the end."""
    if BEGIN in text and END in text:
        return text[:text.index(BEGIN)] + new + text[text.index(END) + len(END):]
    return (text or TITLE).rstrip("\n") + "\n\n" + new + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tessera", required=True, type=pathlib.Path)
    parser.add_argument("--arch", action="append")
    parser.add_argument("--element", default="bf16", help="type of the models' floats")
    parser.add_argument("--only", action="append", help="part of a workload's name")
    parser.add_argument("--reports", type=pathlib.Path)
    parser.add_argument("--timeout", type=float, default=3600, help="seconds for each run")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "docs" / "performance.md")
    options = parser.parse_args()
    architectures = options.arch or ["edge", "server"]
    scratch = tempfile.TemporaryDirectory()
    folder = options.reports or pathlib.Path(scratch.name)
    folder.mkdir(parents=True, exist_ok=True)
    results = []
    for name in workloads.names():
        if options.only and not any(part in name for part in options.only):
            continue
        reports = {}
        for arch in architectures:
            report = folder / f"{name}.{arch}.json"
            error = None
            if not report.exists():
                # Large: made where it is used, and not kept.
                suffix, content = workloads.build(name, options.element)
                with tempfile.NamedTemporaryFile(prefix=f"{name}.", suffix=suffix) as model:
                    model.write(content)
                    model.flush()
                    error = simulate(options, arch, model.name, report)
            reports[arch] = error or json.loads(report.read_text())
            shown = error or f"{reports[arch]['bound']['efficiency']:.4f}"
            print(f"{name:28} {arch:10} {shown}", flush=True)
        results.append((name, reports))
    page = options.output.read_text() if options.output.exists() else ""
    options.output.write_text(
        replace_section(page, section(architectures, options.element, results)))


if __name__ == "__main__":
    main()
