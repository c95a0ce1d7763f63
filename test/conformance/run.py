#!/usr/bin/env python3
"""Runs the ONNX project's own test models on the simulated device.

    run.py [--arch tiny] [--filter TEXT] [--every N] [--jobs N] [--write-docs]

Each model comes with inputs and the outputs that the specification asks for.
A model passes (its outputs agree as the ONNX project compares them), or the
compiler refuses it with a message. A wrong answer, a crash, a hang or a refusal
without a message fails the run. --write-docs writes docs/onnx-support.md.
"""

import argparse
import collections
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

import onnx_tensors

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = pathlib.Path("/usr/share/libonnx-testdata/data")
RTOL, ATOL = 1e-3, 1e-7  # The ONNX project's own.
# Expected bfloat16 values of this data are truncated; conversions round to the
# nearest, as IEEE 754 has it and as later versions of the data do.
TRUNCATED = {"test_cast_FLOAT_to_BFLOAT16", "test_castlike_FLOAT_to_BFLOAT16",
             "test_castlike_FLOAT_to_BFLOAT16_expanded"}

# What the device has no lanes for, or a static program no place. A model that is refused
# for one of these reasons is out of reach; its name or its message tells.
OUT_OF_REACH = [
    ("strings", "type string|to string|StringNormalizer"),
    ("sequences and optional values",
     "Sequence|stored in segments|test_sequence|test_optional|test_identity_opt|test_loop1._seq|"
     "test_if_(opt|seq)"),
    ("training", "[Tt]raining|trains|output_mean|no version of the standard operators"),
    ("random numbers", "Random|Bernoulli"),
    ("shapes that depend on values", r"\((NonMaxSuppression|NonZero|Unique)\)"),
    ("double precision", "type double|to double"),
    ("16-bit and unsigned 32- and 64-bit integers", "type (u?int16|uint32|uint64)"),
]

Outcome = collections.namedtuple("Outcome", "group name state detail")


def compare(got_path, want_path):
    """What is wrong with an output, or None."""
    element, want = onnx_tensors.read(want_path)
    if want is None:
        return "the expected output has no numbers"
    if not got_path.exists():
        return f"no output {got_path.name}"
    got = np.load(got_path)
    if element == 16 and got.dtype == np.float32:
        want = (want.astype("<u4") << 16).view("<f4")
    if got.shape != want.shape:
        return f"shape {got.shape}, expected {want.shape}"
    if got.dtype != want.dtype:
        return f"type {got.dtype}, expected {want.dtype}"
    if want_path.parent.parent.name in TRUNCATED:
        good = (got.astype(int) - want.astype(int)) % 65536 <= 1
    elif want.dtype.kind in "iub":
        good = got == want
    else:
        with np.errstate(all="ignore"):
            good = np.isclose(got.astype(float), want.astype(float), rtol=RTOL, atol=ATOL,
                              equal_nan=True)
    if good.all():
        return None
    at = np.argwhere(~good)[0]
    return (f"{(~good).sum()} of {good.size} elements, at {at.tolist()} "
            f"{got[tuple(at)]}, expected {want[tuple(at)]}")


def check(model, program, arch):
    folder = model.parent
    group, name = folder.parent.name, folder.name
    data = folder / "test_data_set_0"
    with tempfile.TemporaryDirectory() as out:
        try:
            given = ["--inputs", data] if list(data.glob("input_*.pb")) else []
            done = subprocess.run(
                [program, "run", model, "--arch", arch, *given, "--outputs", out],
                capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return Outcome(group, name, "hang", "no end within 300 s")
        if done.returncode != 0:
            text = done.stderr.replace(str(model), "").replace(f"{data}", "input").strip()
            lines = [line.strip() for line in text.splitlines() if line.strip()]
            # Lists of what is known are the same each time.
            lines = [re.sub(r"; accepted are Abs, .*", "", line) for line in lines
                     if not line.startswith("known operators")]
            if done.returncode not in (1, 2) or not lines:
                return Outcome(group, name, "crash", f"exit status {done.returncode}")
            text = " ".join(lines[:3])
            return Outcome(group, name, "refused",
                           re.sub(r"^error: *:? *", "", text))
        for want in sorted(data.glob("output_*.pb")):
            number = int(want.stem.split("_")[1])
            problem = compare(pathlib.Path(out) / f"{number}.npy", want)
            if problem:
                return Outcome(group, name, "wrong", f"output {number}: {problem}")
    return Outcome(group, name, "pass", "")


def out_of_reach(outcome):
    """Why a refused model is out of reach; None if it is not, or passes."""
    text = f"{outcome.name} {outcome.detail}"
    if outcome.state == "refused":
        for reason, pattern in OUT_OF_REACH:
            if re.search(pattern, text):
                return reason
    return None


def write_docs(outcomes, arch):
    lines = [
        "# ONNX support",
        "",
        "Generated by `test/conformance/run.py --write-docs`: the test models of the ONNX",
        "project (opset 17 at most), as Debian's `libonnx-testdata` installs them, run on the",
        f"simulated `{arch}`. Inputs that decide shapes are compiled in from the given files.",
        "",
        "| models | pass | refused |",
        "|---|---|---|",
    ]
    for group in sorted({o.group for o in outcomes}):
        own = [o for o in outcomes if o.group == group]
        passed = sum(o.state == "pass" for o in own)
        lines.append(f"| {group} | {passed} | {len(own) - passed} |")
    within = [o for o in outcomes if not out_of_reach(o)]
    passed = sum(o.state == "pass" for o in within)
    lines += ["", f"{passed} of the {len(within)} models with static shapes and numbers that the "
              f"device has ({passed / len(within):.1%}).", "", "## Pass", ""]
    names = [o.name.removeprefix("test_") for o in outcomes if o.state == "pass"]
    lines.append(", ".join(names))

    def table(title, chosen):
        lines.extend(["", title, "", "| model | message |", "|---|---|"])
        for o in chosen:
            detail = o.detail.replace("|", "\\|")
            lines.append(f"| {o.name.removeprefix('test_')} | {detail} |")
    table("## Refused", [o for o in within if o.state != "pass"])
    lines += ["", "## Out of reach"]
    for reason, _ in OUT_OF_REACH:
        table(f"### {reason.capitalize()}", [o for o in outcomes if out_of_reach(o) == reason])
    (ROOT / "docs" / "onnx-support.md").write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, default=DATA)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "release" / "bin")
    parser.add_argument("--arch", default="tiny")
    parser.add_argument("--filter", default="", help="only models whose name has this in it")
    parser.add_argument("--every", type=int, default=1, help="only every Nth model")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--write-docs", action="store_true")
    parser.add_argument("--quiet", action="store_true", help="only the summary and failures")
    options = parser.parse_args()
    models = sorted(m for m in options.data.glob("*/*/model.onnx")
                    if options.filter in m.parent.name)[::options.every]
    if not models:
        sys.exit(f"run.py: no models below {options.data}; install libonnx-testdata")
    program = options.bin / "tessera"
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        outcomes = []
        for outcome in pool.map(lambda m: check(m, program, options.arch), models):
            outcomes.append(outcome)
            if outcome.state not in ("pass", "refused") or (
                    not options.quiet and outcome.state != "pass"):
                print(outcome.state, outcome.name, outcome.detail, flush=True)
    counts = collections.Counter(o.state for o in outcomes)
    print(", ".join(f"{counts[s]} {s}" for s in ("pass", "refused", "wrong", "crash", "hang")))
    within = len(outcomes) - sum(out_of_reach(o) is not None for o in outcomes)
    print(f"{counts['pass']} of {within} within reach")
    if options.write_docs:
        write_docs(outcomes, options.arch)
    sys.exit(1 if counts["wrong"] + counts["crash"] + counts["hang"] else 0)


if __name__ == "__main__":
    main()
