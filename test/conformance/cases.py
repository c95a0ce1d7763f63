#!/usr/bin/env python3
"""Runs a folder of models with stored inputs and outputs on the simulated device.

    cases.py FOLDER... [--arch tiny,edge,server] [--filter TEXT]

A case is a folder with

- `case.json`: `model`, `rtol`, `atol`, and `inputs` and `outputs` by name, each with its
  `file` (.npy), in the model's order; or
- `model.mlir`, `meta.json` with `tol` [rtol, atol], and `in/0.npy` …, `out/0.npy` ….

Each runs with --verify: the device must agree with the host's reference, and both with
the stored outputs, |got - want| <= atol + rtol * |want|; integers are equal. A model that
quantises while it runs (DynamicQuantizeLinear) is judged by the relative root mean square
of the difference, at most 2 %, and the same largest element along the last dimension:
where a value lies near the edge between two integers, roundings decide. What departs by
more than its tolerance is a failure, whatever the reason may be.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DYNAMIC_RMS = 0.02


class Case:
    def __init__(self, folder):
        self.folder, self.name = folder, folder.name
        if (folder / "case.json").exists():
            about = json.loads((folder / "case.json").read_text())
            self.model = folder / about["model"]
            self.rtol, self.atol = about["rtol"], about["atol"]
            self.inputs = {name: folder / t["file"] for name, t in about["inputs"].items()}
            self.outputs = [folder / t["file"] for t in about["outputs"].values()]
        else:
            self.model = folder / "model.mlir"
            self.rtol, self.atol = json.loads((folder / "meta.json").read_text())["tol"]
            self.inputs = None
            self.outputs = [folder / "out" / f"{i}.npy"
                            for i in range(len(list((folder / "out").glob("*.npy"))))]
        # Operators are named in the file as text.
        self.dynamic = b"DynamicQuantizeLinear" in self.model.read_bytes()

    def arguments(self):
        if self.inputs is None:
            return ["--inputs", self.folder / "in"]
        return [part for name, file in self.inputs.items() for part in ("--input", f"{name}={file}")]


def difference(got, want):
    """The relative root mean square of the difference, and the largest difference."""
    a, b = got.astype(np.float64).ravel(), want.astype(np.float64).ravel()
    with np.errstate(all="ignore"):
        delta = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, a - b)
        norm = np.linalg.norm(b)
        return (np.linalg.norm(delta) / norm if norm else np.linalg.norm(delta)), np.abs(delta).max()


def judge(case, got, want):
    """What is wrong with an output, or None; and its difference as text."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype} {list(got.shape)}, expected {want.dtype} {list(want.shape)}", ""
    if want.size == 0:
        return None, "no elements"
    rms, most = difference(got, want)
    text = f"rms {rms:.1e} max {most:.1e}"
    if want.dtype.kind in "iub":
        wrong = int((got != want).sum())
        return (f"{wrong} of {want.size} integers differ, by up to {most:g}" if wrong else None), text
    if case.dynamic:
        if rms > DYNAMIC_RMS:
            return f"relative rms {rms:.2%}, accepted is {DYNAMIC_RMS:.0%}", text
        same = got.argmax(-1) == want.argmax(-1) if want.ndim else True
        return (None if np.all(same) else "another element is the largest"), text
    good = np.isclose(got.astype(np.float64), want.astype(np.float64), case.rtol, case.atol,
                      equal_nan=True)
    if good.all():
        return None, text
    return f"{(~good).sum()} of {want.size} elements differ, by up to {most:.3g} (rms {rms:.1e})", text


def check(case, program, arch):
    """The problem or None, and the differences of the outputs as text."""
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run(
            [program, "run", case.model, "--arch", arch, *case.arguments(), "--outputs", out,
             "--verify"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            lines = (done.stderr or done.stdout).strip().splitlines()
            return f"exit status {done.returncode}: {lines[0] if lines else ''}", ""
        problems, texts = [], []
        for i, file in enumerate(case.outputs):
            problem, text = judge(case, np.load(pathlib.Path(out) / f"{i}.npy"), np.load(file))
            texts.append(text)
            if problem:
                problems.append(f"output {i}: {problem}")
        return "; ".join(problems) or None, ", ".join(texts)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "release" / "bin")
    parser.add_argument("--arch", default="tiny,edge,server", help="separated by commas")
    parser.add_argument("--filter", default="", help="only cases whose name has this in it")
    options = parser.parse_args()
    found = sorted(file.parent for folder in options.folders for kind in ("case.json", "meta.json")
                   for file in folder.rglob(kind))
    cases = [Case(folder) for folder in found if options.filter in folder.name]
    if not cases:
        sys.exit("cases.py: no case.json or meta.json in these folders")
    failed = 0
    for arch in options.arch.split(","):
        for case in cases:
            problem, text = check(case, options.bin / "tessera", arch)
            failed += problem is not None
            print(f"{'FAILED' if problem else 'good':6} {arch:8} {case.name:36} {problem or text}", flush=True)
    runs = len(cases) * len(options.arch.split(","))
    print(f"{runs - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
