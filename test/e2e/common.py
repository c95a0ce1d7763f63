"""Shared by the end-to-end tests: where the programs are, how to run them."""

import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BIN = pathlib.Path(os.environ.get("TESSERA_BIN", ROOT / "build" / "release" / "bin"))
DIGITS = ROOT / "test" / "e2e" / "models" / "digits.onnx"
DIGITS_INPUTS = ROOT / "third_party" / "digits" / "inputs"
LLVM_BIN = pathlib.Path("/usr/lib/llvm-22/bin")


def run(program, *args, timeout=600, cwd=None):
    """Runs a program of the build; gives the CompletedProcess with text output."""
    path = BIN / program if (BIN / program).exists() else program
    return subprocess.run([str(path), *map(str, args)], capture_output=True, text=True,
                          errors="replace", timeout=timeout, cwd=cwd, stdin=subprocess.DEVNULL)


def tessera(*args, **kwargs):
    return run("tessera", *args, **kwargs)


def without_wall_times(text):
    """A JSON text with its wall-clock figures replaced."""
    return re.sub(r'("(?:compile_s|simulate_s)"\s*:\s*)[-+0-9.eE]+', r"\g<1>0", text)
