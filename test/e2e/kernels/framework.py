"""Hand-written kernels as tests: assembled, run, compared, measured, checked.

A kernel is a folder with

- `kernel.mlir`: the assembly, with a `device.program @main` that dispatches it;
- `kernel.py`: ARCH (a preset, or an architecture file of the folder),
  `inputs(random)` -> {name: array}, `reference(inputs)` -> [array, ...] in output
  order, and, if the kernel claims a figure, UTILIZATION = {"matrix": least share}
  with MACS and PEAK (multiply-accumulates a cycle on the cores it uses).

README.md in this folder says more.
"""

import importlib.util
import json
import pathlib
import re
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent))

from common import run, tessera  # noqa: E402

SEED = 20240


class Broken(Exception):
    """What a kernel, or the toolchain on it, did wrong."""


class Outcome:
    """One run of an object: exit status, findings, outputs, report."""

    def __init__(self, status, errors, outputs, report):
        self.status = status
        self.errors = errors
        self.outputs = outputs
        self.report = report

    def findings(self):
        """The kinds of what was reported."""
        kinds = set()
        for line in self.errors.splitlines():
            if not line.startswith("error: "):
                continue
            for kind, pattern in REPORTS.items():
                if re.search(pattern, line):
                    kinds.add(kind)
        return kinds


# How reports begin, by kind; a mutant counts as found by these alone.
REPORTS = {
    "race": r"^error: race\b",
    "memory": r"^error: memory\b|uninitialised|not written",
    "sync": r"^error: sync\b|SemaphoreNotZero|SemaphoreOverflow|CoreNotRunning",
    "deadlock": r"deadlock",
}


class Kernel:
    def __init__(self, folder):
        self.folder = folder
        self.name = folder.name
        self.source = (folder / "kernel.mlir").read_text()
        spec = importlib.util.spec_from_file_location(f"kernel_{self.name}", folder / "kernel.py")
        self.definition = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.definition)
        path = folder / self.definition.ARCH
        self.arch = str(path) if path.exists() else self.definition.ARCH
        self.inputs = self.definition.inputs(np.random.default_rng(SEED))
        self._reference = None

    def reference(self):
        if self._reference is None:
            self._reference = self.definition.reference(self.inputs)
        return self._reference

    def assemble(self, work, source=None):
        """Gives the object, or (None, message) of the assembler."""
        text = work / "kernel.mlir"
        text.write_text(self.source if source is None else source)
        target = work / "kernel.tsr"
        result = run("tessera-translate", "--isa-to-object", f"--arch={self.arch}", text,
                     "-o", target)
        return (target, "") if result.returncode == 0 else (None, result.stderr)

    def write_inputs(self, work):
        for name, array in self.inputs.items():
            np.save(work / f"{name}.npy", array)

    def execute(self, work, target, *options, arch=None):
        arguments = [f"--input={name}={work / name}.npy" for name in self.inputs]
        for stale in [*work.glob("out/*"), work / "report.json"]:
            stale.unlink(missing_ok=True)
        result = tessera("run", target, "--arch", arch or self.arch, *arguments, "--json",
                         work / "report.json",
                         *([] if "--timing-only" in options else ["--outputs", work / "out"]),
                         *options)
        outputs, report = None, None
        if (work / "report.json").exists():
            report = json.loads((work / "report.json").read_text())
            outputs = [np.load(work / "out" / f"{i}.npy")
                       for i in range(len(list((work / "out").glob("*.npy"))))]
        return Outcome(result.returncode, result.stderr, outputs, report)

    def is_right(self, outputs):
        expected = self.reference()
        return len(outputs) == len(expected) and all(
            same_bits(o, e) for o, e in zip(outputs, expected))

    def prepare(self, work):
        """Writes inputs, assembles; gives the object."""
        self.write_inputs(work)
        target, message = self.assemble(work)
        if target is None:
            raise Broken(f"{self.name}: does not assemble: {message}")
        return target

    def cycles(self, report):
        """From the dispatch's start to its completion signal."""
        return sum(dispatch["cycles"] for dispatch in report["dispatches"])

    def core_cycles(self, report):
        """From the first fetch to the end of the core, of a kernel on one core."""
        return sum(cycles for cause, cycles in report["engines"]["matrix"].items()
                   if cause != "no_kernel")

    def utilization(self, report):
        """Measured share of the matrix engine's peak, or None."""
        if not hasattr(self.definition, "MACS"):
            return None
        return self.definition.MACS / self.definition.PEAK / self.core_cycles(report)


def same_bits(a, b):
    return a.shape == b.shape and a.dtype.itemsize == b.dtype.itemsize and \
        a.tobytes() == b.tobytes()


def kernels():
    """All kernels, by name."""
    return [Kernel(path.parent) for path in sorted(HERE.glob("*/kernel.py"))]


def speeds(kernel, work):
    """Architecture files that differ from the kernel's in speed only."""
    shown = tessera("arch", "show", kernel.arch)
    if shown.returncode != 0:
        raise Broken(f"{kernel.name}: {shown.stderr}")
    changes = {
        "slow_memory": [(r"(?m)^(\s+outstanding:) .*", r"\1 2")],
        "slow_matrix": [(r"(?m)^(\s+fill_latency:) .*", r"\1 900")],
        "slow_vector": [(r"(?m)^(\s+latency:) .*", r"\1 800"),
                        (r"(?m)^(\s+alu_slots:) .*", r"\1 1")],
        "short_queues": [(r"(?m)^(\s+depth:) .*", r"\1 1")],
    }
    files = []
    for name, edits in changes.items():
        text = shown.stdout
        for pattern, replacement in edits:
            text, count = re.subn(pattern, replacement, text)
            if count == 0:
                raise Broken(f"`arch show` has no line {pattern}")
        path = work / f"{name}.yaml"
        path.write_text(text)
        files.append(path)
    return files
