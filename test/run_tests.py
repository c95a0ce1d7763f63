#!/usr/bin/env python3
"""Runs every test program of a build and adds up what passed and failed.

Suites: GoogleTest programs (build/<preset>/unit-tests.txt lists them), lit
(test/), end to end (test/e2e/test_*.py, unittest). `--sanitizer-preset` runs
that preset's GoogleTest programs too, `--thread-preset` those in which host threads
take part. The last line is "N passed, N failed".
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIT = "/usr/lib/llvm-22/bin/lit"


class Totals:
    def __init__(self):
        self.passed = 0
        self.failed = 0

    def add(self, suite, passed, failed, seconds, failures=()):
        self.passed += passed
        self.failed += failed
        print(f"{suite:<40} {passed:>6} passed {failed:>4} failed {seconds:>7.1f} s", flush=True)
        for name in failures:
            print(f"    FAILED {name}", flush=True)


def show_tail(text, lines=60):
    print("\n".join("    " + line for line in text.splitlines()[-lines:]), flush=True)


def run_gtest(totals, preset, name, label):
    program = ROOT / "build" / preset / "bin" / name
    with tempfile.TemporaryDirectory() as tmp:
        report = pathlib.Path(tmp) / "report.json"
        start = time.monotonic()
        result = subprocess.run(
            [program, f"--gtest_output=json:{report}", "--gtest_brief=1"],
            cwd=tmp, capture_output=True, text=True, errors="replace", timeout=1200)
        seconds = time.monotonic() - start
        if not report.exists():
            totals.add(label, 0, 1, seconds, [f"{name}: ended with status {result.returncode} and no report"])
            show_tail(result.stdout + result.stderr)
            return
        data = json.loads(report.read_text())
    failures = [f"{suite['name']}.{case['name']}" for suite in data["testsuites"]
                for case in suite["testsuite"] if case.get("failures")]
    failed = len(failures)
    if result.returncode != 0 and failed == 0:
        failures, failed = [f"{name}: exit status {result.returncode}"], 1
    totals.add(label, max(data["tests"] - failed, 0), failed, seconds, failures)
    if failed:
        show_tail(result.stdout + result.stderr)


def run_unit_tests(totals, preset, suffix):
    names = (ROOT / "build" / preset / "unit-tests.txt").read_text().split()
    if not names:
        totals.add(f"unit{suffix}", 0, 1, 0.0, ["no test program in the build"])
    for name in names:
        run_gtest(totals, preset, name, name + suffix)


# Programs in which host threads take part: what ThreadSanitizer has to look at.
THREADED = ["conformance-tests"]


def run_threaded_tests(totals, preset):
    for name in THREADED:
        run_gtest(totals, preset, name, f"{name} ({preset})")


def run_lit(totals, preset):
    with tempfile.TemporaryDirectory() as tmp:
        report = pathlib.Path(tmp) / "lit.json"
        start = time.monotonic()
        result = subprocess.run(
            [sys.executable, LIT, "-j2", "-sv", "-o", report, ROOT / "build" / preset / "test"],
            capture_output=True, text=True, errors="replace", timeout=1800)
        seconds = time.monotonic() - start
        if not report.exists():
            totals.add("lit", 0, 1, seconds, ["lit itself failed"])
            show_tail(result.stdout + result.stderr)
            return
        tests = json.loads(report.read_text())["tests"]
    good = {"PASS", "XFAIL", "FLAKYPASS"}
    failures = [t["name"] for t in tests if t["code"] not in good | {"UNSUPPORTED", "EXCLUDED"}]
    passed = sum(t["code"] in good for t in tests)
    if passed == 0:
        failures.append("lit ran no test")
    totals.add("lit", passed, len(failures), seconds, failures)
    if failures:
        show_tail(result.stdout, 150)


def run_end_to_end(totals, preset):
    environment = dict(os.environ, TESSERA_BIN=str(ROOT / "build" / preset / "bin"))
    for script in sorted((ROOT / "test" / "e2e").glob("test_*.py")):
        start = time.monotonic()
        result = subprocess.run(
            [sys.executable, script, "-v"], env=environment, cwd=script.parent,
            capture_output=True, text=True, errors="replace", timeout=1800)
        seconds = time.monotonic() - start
        output = result.stderr
        passed = len(re.findall(r"\.\.\. ok$", output, re.M))
        failures = re.findall(r"^(?:FAIL|ERROR): (.*)$", output, re.M)
        if result.returncode != 0 and not failures:
            failures = [f"exit status {result.returncode}"]
        # A file may say why nothing of it can run here.
        skipped = re.findall(r"\.\.\. skipped '(.*)'$", output, re.M)
        if result.returncode == 0 and passed == 0 and not skipped:
            failures = ["ran no test"]
        totals.add(script.stem, passed, len(failures), seconds, failures)
        for reason in sorted(set(skipped)):
            print(f"    skipped: {reason}")
        if failures:
            show_tail(result.stdout + output, 120)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", default="release")
    parser.add_argument("--sanitizer-preset")
    parser.add_argument("--thread-preset")
    parser.add_argument("--only", choices=["unit", "lit", "e2e", "sanitizer", "threads"], action="append",
                        help="run only this part; may be repeated")
    args = parser.parse_args()
    parts = args.only or ["unit", "lit", "e2e", "sanitizer", "threads"]
    totals = Totals()
    if "unit" in parts:
        run_unit_tests(totals, args.preset, "")
    if "lit" in parts:
        run_lit(totals, args.preset)
    if "e2e" in parts:
        run_end_to_end(totals, args.preset)
    if "sanitizer" in parts and args.sanitizer_preset:
        run_unit_tests(totals, args.sanitizer_preset, f" ({args.sanitizer_preset})")
    if "threads" in parts and args.thread_preset:
        run_threaded_tests(totals, args.thread_preset)
    print(f"{totals.passed} passed, {totals.failed} failed")
    return 1 if totals.failed else 0


if __name__ == "__main__":
    sys.exit(main())
