#!/usr/bin/env python3
"""Runs the litmus tests at length and writes their table into docs/memory-model.md.

    tools/litmus-table.py [--bin build/release/bin] [--explore 10000]

Replaces what stands between the markers `<!-- litmus -->`. Exit status 1, and the page as
it was, if a forbidden outcome came up or an allowed weak one never did.
"""

import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "memory-model.md"
BEGIN, END = "<!-- litmus -->", "<!-- end of litmus -->"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "release" / "bin")
    parser.add_argument("--explore", type=int, default=10000, help="schedules of each test")
    args = parser.parse_args()
    result = subprocess.run([args.bin / "litmus", f"--explore={args.explore}"],
                            capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"error: litmus ended with status {result.returncode}:\n"
                 f"{result.stdout}{result.stderr}")
    rows = [line.split() for line in result.stdout.splitlines()[1:]]
    if not rows or any(len(row) != 5 for row in rows):
        sys.exit(f"error: not a table of litmus:\n{result.stdout}")
    lines = ["| test | schedules | different outcomes | weak outcome seen | which is |",
             "|---|---|---|---|---|"]
    lines += [f"| {test} | {int(count):,} | {outcomes} | {int(weak):,} | {verdict} |"
              for test, count, outcomes, weak, verdict in rows]
    section = "\n".join([BEGIN, "", *lines, "", END])
    text = PAGE.read_text()
    if BEGIN not in text:
        sys.exit(f"error: {PAGE} has no {BEGIN}")
    text = re.sub(re.escape(BEGIN) + ".*?" + re.escape(END), lambda _: section, text, flags=re.S)
    PAGE.write_text(text)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
