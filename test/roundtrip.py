#!/usr/bin/env python3
"""Runs a tool of the mlir-opt kind and checks that its output round-trips.

    roundtrip.py TOOL [arguments of the tool]

Passes the tool's output on. If the tool succeeded and printed IR, the output is
parsed and printed a second time; a difference or a parse error is a failure.
Runs that expect diagnostics, print no IR or write bytecode are left alone.
"""

import difflib
import subprocess
import sys

# The second run needs the options that say how IR is read and printed.
KEPT = ("allow-unregistered-dialect", "split-input-file", "mlir-print-op-generic",
        "mlir-print-debuginfo", "mlir-print-local-scope", "mlir-pretty-debuginfo",
        "mlir-use-nameloc-as-prefix", "mlir-elide", "mlir-print-unique-ssa-ids",
        "no-implicit-module")
# With these there is no IR to compare.
SKIPPED = ("verify-diagnostics", "emit-bytecode", "show-dialects", "list-passes",
           "help", "help-hidden", "version", "o", "disable-verify")


def option_name(argument):
    return argument.lstrip("-").split("=")[0]


def main():
    tool, arguments = sys.argv[1], sys.argv[2:]
    first = subprocess.run([tool, *arguments], stdout=subprocess.PIPE)
    sys.stdout.buffer.write(first.stdout)
    sys.stdout.flush()
    options = [a for a in arguments if a.startswith("-") and a != "-"]
    if (first.returncode != 0 or not first.stdout.strip()
            or any(option_name(o) in SKIPPED for o in options)):
        return first.returncode

    kept = [o for o in options if option_name(o).startswith(KEPT)]
    second = subprocess.run([tool, *kept, "-"], input=first.stdout, stdout=subprocess.PIPE)
    if second.returncode != 0:
        print("roundtrip.py: the output does not parse", file=sys.stderr)
        return 1
    if second.stdout != first.stdout:
        sys.stderr.writelines(difflib.unified_diff(
            first.stdout.decode().splitlines(True), second.stdout.decode().splitlines(True),
            "first print", "second print"))
        print("roundtrip.py: the output prints differently when it is parsed again",
              file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
