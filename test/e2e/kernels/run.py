#!/usr/bin/env python3
"""Runs kernels of this folder and prints what they reach.

  run.py [KERNEL …] [--plant] [--bin build/dev/bin]

For each kernel: whether its results are those of its reference, cycles, share of the
matrix engine's peak, and what `--sanitize` finds. With --plant every mutant of
planting.py as well, one line each. Ends with status 1 if anything is not as it should be.
"""

import argparse
import os
import pathlib
import sys
import tempfile
import time

PARSER = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
PARSER.add_argument("kernels", nargs="*", metavar="KERNEL")
PARSER.add_argument("--plant", action="store_true")
PARSER.add_argument("--bin", type=pathlib.Path)


def show(kernel, work, plant):
    from framework import speeds
    from planting import mutants
    from verdict import CHECKS, judge
    target = kernel.prepare(work)
    start = time.monotonic()
    outcome = kernel.execute(work, target)
    seconds = time.monotonic() - start
    if outcome.status != 0:
        print(f"{kernel.name}: {outcome.errors}")
        return False
    good = kernel.is_right(outcome.outputs)
    share = kernel.utilization(outcome.report)
    start = time.monotonic()
    checked = kernel.execute(work, target, CHECKS)
    print(f"{kernel.name}: {'right' if good else 'WRONG'}, {kernel.cycles(outcome.report)} cycles"
          + (f", {share:.2%} of the matrix peak" if share else "")
          + f", {seconds:.2f} s; {'clean' if checked.status == 0 else checked.errors}"
          f" ({time.monotonic() - start:.2f} s)")
    good &= checked.status == 0
    if plant:
        files = speeds(kernel, work)
        for mutant in mutants(kernel.source):
            try:
                verdict = judge(kernel, work, mutant, files)
            except Exception as error:  # shown, and the next one tried
                verdict, good = f"BROKEN: {error}", False
            print(f"  {mutant.family} {mutant.what}: {verdict}", flush=True)
    return good


def main():
    args = PARSER.parse_args()
    if args.bin:
        os.environ["TESSERA_BIN"] = str(args.bin.resolve())
    from framework import kernels
    chosen = [k for k in kernels() if not args.kernels or k.name in args.kernels]
    unknown = set(args.kernels) - {k.name for k in chosen}
    if unknown:
        print(f"error: no kernel {', '.join(sorted(unknown))}; there are: "
              f"{', '.join(k.name for k in kernels())}", file=sys.stderr)
        return 2
    good = True
    for kernel in chosen:
        with tempfile.TemporaryDirectory() as work:
            good &= show(kernel, pathlib.Path(work), args.plant)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
