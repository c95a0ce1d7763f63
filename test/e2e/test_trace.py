#!/usr/bin/env python3
"""Traces: the Perfetto file read back, and compared with the Chrome one."""

import collections
import json
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from common import BIN, DIGITS, tessera


def fields(data):
    """(number, value) of each field of a protobuf message; bytes or an int."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 1:
            yield tag >> 3, int.from_bytes(data[at:at + 8], "little")
            at += 8
            continue
        value = varint()
        if tag & 7 == 2:
            assert at + value <= len(data), "cut off"
            value, at = data[at:at + value], at + value
        else:
            assert tag & 7 == 0, f"wire type {tag & 7}"
        yield tag >> 3, value


def first(data, number, default=0):
    return next((value for n, value in fields(data) if n == number), default)


Event = collections.namedtuple("Event", "ns track kind name arguments value flows")


def read_trace(data):
    """The events of a Perfetto trace, in order."""
    names, tracks, now, events = {}, {}, 0, []
    for number, packet in fields(data):
        assert number == 1
        packet = list(fields(packet))
        content = dict(packet)
        for kind, entry in fields(content.get(12, b"")):
            key = kind, first(entry, 1)
            assert key not in names
            names[key] = first(entry, 2).decode()
        if 60 in content:
            descriptor = dict(fields(content[60]))
            name = descriptor.get(2) or first(descriptor[3], 6)
            parent = tracks[descriptor[5]] + "/" if 5 in descriptor else ""
            tracks[descriptor[1]] = parent + name.decode()
        if 11 in content:
            now += content[8]
            event = list(fields(content[11]))
            values = dict(event)
            arguments = {names[3, first(a, 1)]: names[29, first(a, 17)] if first(a, 17) else first(a, 3)
                         for n, a in event if n == 4}
            events.append(Event(now, (values[11], tracks[values[11]]), values[9],
                                names.get((2, values.get(10))), arguments, values.get(30),
                                [value for n, value in event if n == 47]))
    return events


class Trace(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.tmp = pathlib.Path(cls.folder.name)
        for name in ("run.pftrace", "again.pftrace", "run.json"):
            result = tessera("run", DIGITS, "--arch", "edge", "--dim", "N=64", "--trace", cls.tmp / name,
                             "--json", cls.tmp / "report.json")
            assert result.returncode == 0, result.stderr
        cls.data = (cls.tmp / "run.pftrace").read_bytes()
        cls.events = read_trace(cls.data)
        cls.report = json.loads((cls.tmp / "report.json").read_text())

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_the_same_bytes_again(self):
        self.assertEqual(self.data, (self.tmp / "again.pftrace").read_bytes())
        self.assertEqual(sorted(path.name for path in self.tmp.iterdir()),
                         ["again.pftrace", "report.json", "run.json", "run.pftrace"])

    def test_events_are_small(self):
        self.assertLessEqual(len(self.data) / len(self.events), 24)

    def test_slices_nest_and_end(self):
        open_slices = {}
        for event in self.events:
            if event.kind == 1:
                self.assertFalse(open_slices.get(event.track), event)
                open_slices[event.track] = event
            elif event.kind == 2:
                self.assertLessEqual(open_slices.pop(event.track).ns, event.ns)
        self.assertFalse(open_slices)

    def test_the_same_events_as_in_the_chrome_trace(self):
        chrome = json.loads((self.tmp / "run.json").read_text())
        self.assertEqual(chrome["otherData"]["dropped"], 0)
        expected = collections.Counter(
            (f"core {event['pid']}/{event['cat']}", event["name"], event["args"]["pc"], int(float(event["ts"]) * 1000 + 1e-6))
            for event in chrome["traceEvents"] if event["ph"] == "b")
        found = collections.Counter((event.track[1], event.name, event.arguments["pc"], event.ns)
                                    for event in self.events if event.kind == 1 and "pc" in event.arguments)
        self.assertEqual(found, expected)
        self.assertGreater(sum(found.values()), 100)

    def test_dispatches_are_those_of_the_report(self):
        slices = [event for event in self.events if event.kind == 1 and event.track[1] == "command processor/queue 0"]
        self.assertEqual([event.name for event in slices], [dispatch["name"] for dispatch in self.report["dispatches"]])
        self.assertEqual([event.arguments["nodes"] for event in slices],
                         [", ".join(dispatch["ops"]) for dispatch in self.report["dispatches"]])
        ended = {}
        for event in self.events:
            if event.kind == 2 and event.track[1] == "command processor/queue 0":
                ended.setdefault(len(ended), event.ns)
        # The clock of `edge` is 1 GHz: a nanosecond is a cycle.
        self.assertEqual([ended[i] - event.ns for i, event in enumerate(slices)],
                         [dispatch["cycles"] for dispatch in self.report["dispatches"]])

    def test_arrows_lead_from_the_host_to_the_cores(self):
        ends = collections.defaultdict(list)
        for event in self.events:
            for flow in event.flows:
                ends[flow].append(event)
        self.assertGreater(len(ends), len(self.report["dispatches"]))
        for begin, end in ends.values():
            self.assertLessEqual(begin.ns, end.ns)
            if begin.track[1] == "host/thread":
                self.assertEqual((begin.name, end.track[1]), ("submit", "command processor/queue 0"))
            else:
                self.assertEqual((begin.track[1], begin.name), ("command processor/queue 0", end.name))
                self.assertRegex(end.track[1], r"core \d+/kernel")
        steps = [event.name for event in self.events if event.kind == 1 and event.track[1] == "host/thread"]
        self.assertEqual(steps, ["load program", "write inputs", "submit", "wait", "read outputs"])

    def test_traffic_adds_up(self):
        rates = collections.defaultdict(dict)
        for event in self.events:
            process, _, track = event.track[1].partition("/")
            if event.kind == 4 and process == "memory and network":
                rates[track.removesuffix(", MB/s")][event.ns] = event.value
        memory = self.report["memory"]
        expected = {f"channel {i}": (c["reads"] + c["writes"]) * memory["atom_bytes"]
                    for i, c in enumerate(memory["channels"])}
        expected.update((f"{link['from']} to {link['to']}", link["bytes"]) for link in memory["links"])
        expected = {track: count for track, count in expected.items() if count}
        self.assertEqual(set(rates), set(expected))
        for track, samples in rates.items():
            # A sample every 256 cycles of 1 ns, not written if it is as the one before, and where the host looks.
            moved = rate = before = 0
            for ns in sorted({*range(256, max(samples) + 1, 256), *samples}):
                rate = samples.get(ns, rate)
                moved += rate * (ns - before) / 1000
                before = ns
            self.assertAlmostEqual(moved, expected[track], delta=before / 256 + 1, msg=track)

    def test_links_and_pipes_are_written_as_they_are(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "link.pftrace").symlink_to(folder / "target.pftrace")
            (folder / "full.pftrace").symlink_to("/dev/full")
            arguments = ["run", DIGITS, "--arch", "edge", "--dim", "N=4", "--trace"]
            self.assertEqual(tessera(*arguments, folder / "link.pftrace").returncode, 0)
            self.assertTrue((folder / "link.pftrace").is_symlink())
            self.assertGreater((folder / "target.pftrace").stat().st_size, 1000)
            result = tessera(*arguments, folder / "full.pftrace")
            self.assertEqual(result.returncode, 1)
            self.assertIn("No space left on device", result.stderr)
            self.assertTrue((folder / "full.pftrace").is_symlink())

    def test_an_interrupted_run_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            process = subprocess.Popen([str(BIN / "tessera"), "run", str(DIGITS), "--arch", "tiny", "--dim", "N=9000",
                                        "--timing-only", "--trace", f"{folder}/run.pftrace"], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            time.sleep(0.4)
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(60), -signal.SIGINT, "it had not ended before")
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [])

    def test_the_page_changes_nothing_in_the_trace(self):
        result = tessera("run", DIGITS, "--arch", "edge", "--dim", "N=64", "--trace", self.tmp / "with.pftrace",
                         "--report", self.tmp / "page")
        self.assertEqual(result.returncode, 0, result.stderr)
        data = (self.tmp / "with.pftrace").read_bytes()
        (self.tmp / "with.pftrace").unlink()
        shutil.rmtree(self.tmp / "page")
        self.assertEqual(data, self.data)

    def test_overlapping_instructions_have_ids_of_their_own(self):
        chrome = json.loads((self.tmp / "run.json").read_text())
        open_ids = set()
        for event in chrome["traceEvents"]:
            key = event.get("pid"), event.get("cat"), event.get("id")
            if event["ph"] == "b":
                self.assertNotIn(key, open_ids)
                open_ids.add(key)
            elif event["ph"] == "e":
                open_ids.remove(key)

    def test_instructions_say_where_they_come_from(self):
        sources = {event.arguments.get("source") for event in self.events if event.kind == 1 and event.name == "mma"}
        self.assertTrue(any(source and "conv2" in source for source in sources), sources)


if __name__ == "__main__":
    unittest.main()
