#!/usr/bin/env python3
"""Compiles and simulates the benchmark models; writes docs/performance.md.

Every number of the page comes from the reports that `tessera run --json` wrote:

  performance.py --tessera build/dev/bin/tessera [--arch NAME …] [--only TEXT]
                 [--reports FOLDER] [--output docs/performance.md]

Reports that are already in the folder are kept, so a run can go on where an
earlier one ended; remove them after a change of the compiler.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import gemm

ROOT = pathlib.Path(__file__).resolve().parents[3]


def simulate(tool, arch, model, report):
    result = subprocess.run(
        [tool, "run", model, "--arch", arch, "--timing-only", "--json", report],
        capture_output=True, text=True)
    if result.returncode != 0:
        report.unlink(missing_ok=True)
        return (result.stderr.strip().splitlines() or ["failed"])[0]
    return None


def row(name, reports):
    """A line of the table: for each architecture efficiency and limiter."""
    cells = []
    for report in reports:
        if isinstance(report, str):
            cells += ["–", "–"]
            continue
        bound = report["bound"]
        cells += [f"{bound['efficiency']:.3f}", bound["limiter"]]
    return f"| {name} | " + " | ".join(cells) + " |"


def page(architectures, results, element):
    heads = " | ".join(f"`{arch}` | limited by" for arch in architectures)
    lines = ["# Performance", "", f"Operands are {element}.", "",
             "`bound.efficiency` of the benchmark models: the floor of docs/report.md divided by",
             "the simulated cycles. Made by `test/bench/models/performance.py`; a dash is a model",
             "that does not compile yet.", "",
             f"| model | {heads} |", "|---" * (1 + 2 * len(architectures)) + "|"]
    lines += [row(name, reports) for name, reports in results]
    for index, arch in enumerate(architectures):
        product, count = 1.0, 0
        for _, reports in results:
            report = reports[index]
            if not isinstance(report, str) and report["bound"]["cycles"] >= 20000:
                product *= report["bound"]["efficiency"]
                count += 1
        if count:
            lines += ["", f"Geometric mean on `{arch}` of the {count} models with a bound of at "
                      f"least 20,000 cycles: {product ** (1 / count):.3f}."]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tessera", required=True, type=pathlib.Path)
    parser.add_argument("--arch", action="append")
    parser.add_argument("--element", default="bf16", help="type of the operands")
    parser.add_argument("--only", default="", help="part of the models' names")
    parser.add_argument("--reports", type=pathlib.Path)
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "docs" / "performance.md")
    options = parser.parse_args()
    architectures = options.arch or ["edge", "server"]
    scratch = tempfile.TemporaryDirectory()
    folder = options.reports or pathlib.Path(scratch.name)
    folder.mkdir(parents=True, exist_ok=True)
    results = []
    for name, text in gemm.models(options.element):
        if options.only not in name:
            continue
        model = folder / f"{name}.mlir"
        model.write_text(text)
        reports = []
        for arch in architectures:
            report = folder / f"{name}.{arch}.json"
            error = None if report.exists() else simulate(options.tessera, arch, model, report)
            reports.append(error or json.loads(report.read_text()))
            shown = error or f"{reports[-1]['bound']['efficiency']:.4f}"
            print(f"{name:24} {arch:10} {shown}", flush=True)
        results.append((name, reports))
    options.output.write_text(page(architectures, results, options.element))


if __name__ == "__main__":
    main()
