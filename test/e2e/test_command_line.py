#!/usr/bin/env python3
"""The command line: what it accepts, and what bad input gets.

Every bad command prints one line on stderr that starts with "error: ", ends with
the documented status, and leaves no file behind.
"""

import json
import pathlib
import struct
import tempfile
import unittest

from common import DIGITS, tessera
from files import floats, npy, onnx_model, onnx_tensor

SHAPE = (4, 8)
ADD = onnx_model([("Add", "sum", ["a", "b"], ["y"])],
                 [("a", SHAPE), ("b", SHAPE)], [("y", SHAPE)])
SYMBOLIC = onnx_model([("Relu", "relu", ["x"], ["y"])], [("x", ("N", 8))], [("y", ("N", 8))])
OTHER_SYMBOL = onnx_model([("Relu", "relu", ["x"], ["y"])], [("x", ("M", 8))], [("y", ("M", 8))])
UNSUPPORTED = onnx_model([("Relu", "fine", ["x"], ["t"]), ("Frobnicate", "first", ["t"], ["u"]),
                          ("Unique", "second", ["u"], ["y"])],
                         [("x", SHAPE)], [("y", SHAPE)])


class CommandLine(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.tmp = pathlib.Path(cls.folder.name)
        write = lambda name, data: (cls.tmp / name).write_bytes(data)
        write("add.onnx", ADD)
        write("symbolic.onnx", SYMBOLIC)
        write("other_symbol.onnx", OTHER_SYMBOL)
        write("unsupported.onnx", UNSUPPORTED)
        write("truncated.onnx", DIGITS.read_bytes()[:5000])
        write("text.onnx", b"this is no model\n")
        write("empty.onnx", b"")
        write("bad.mlir", b"func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  oops\n}\n")
        write("bad_key.yaml", b"name: mine\nfrequency: 3\n")
        write("a.npy", floats(SHAPE))
        write("wrong_shape.npy", floats((8, 4)))
        write("wrong_type.npy", npy("<i4", SHAPE, bytes(128)))
        write("cut.npy", floats(SHAPE)[:100])
        write("a.pb", onnx_tensor(SHAPE, struct.pack("<32f", *range(32))))
        write("junk.pb", b"\xff\xff\xff")
        for name in ("none", "gap", "one", "three", "both"):
            (cls.tmp / name).mkdir()
        write("gap/1.npy", floats(SHAPE))
        write("one/0.npy", floats(SHAPE))
        for i in range(3):
            write(f"three/{i}.npy", floats(SHAPE))
        write("both/0.npy", floats(SHAPE))
        write("both/input_0.pb", b"")
        built = tessera("compile", cls.tmp / "add.onnx", "--arch", "tiny", "-o", cls.tmp / "add.tsr")
        assert built.returncode == 0, built.stderr
        image = bytearray((cls.tmp / "add.tsr").read_bytes())
        image[len(image) // 2] ^= 0x10
        write("flipped.tsr", image)
        write("cut.tsr", image[:len(image) // 2])
        write("no_elf.tsr", b"nothing")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def command(self, line):
        return tessera(*line.split(), cwd=self.tmp, timeout=120)

    def check_errors(self, status, table):
        for line, text in table:
            with self.subTest(command=line):
                before = sorted(self.tmp.rglob("*"))
                result = self.command(line)
                self.assertEqual(result.returncode, status, result.stderr)
                self.assertRegex(result.stderr, r"\Aerror: [^\n]+\n\Z")
                self.assertIn(text, result.stderr)
                self.assertEqual(sorted(self.tmp.rglob("*")), before)

    def check_good(self, line):
        result = self.command(line)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, "")
        return result.stdout

    def test_usage(self):
        self.check_errors(2, [
            ("", "subcommand"),
            ("frobnicate", "'frobnicate' is no sub-command"),
            ("run", "MODEL"),
            ("run add.onnx --frobnicate", "--frobnicate"),
            ("compile add.onnx", "-o"),
            ("compile add.onnx -o x --emit=assembly", "'assembly' is no level"),
            ("run add.onnx --dim N", "'N' is not NAME=N"),
            ("run add.onnx --dim N=0", "'N=0' is not NAME=N"),
            ("run add.onnx --input a", "'a' is not NAME=FILE"),
            ("run add.onnx --verify=some", "'some' is unknown"),
            ("run add.onnx --sanitize=race,speed", "'speed' is unknown"),
            ("run add.onnx --sanitize", "--sanitize"),
            ("run add.onnx --precision=f99", "'f99' is unknown"),
            ("run add.onnx --timing-only --verify", "--timing-only"),
            ("run add.onnx --explore=0", "--explore"),
            ("run add.onnx --trace out.txt", ".pftrace (Perfetto) and .json (Chrome)"),
            ("run add.onnx --timing-only --outputs out", "--timing-only"),
            ("arch", "subcommand"),
            ("arch show", "NAME"),
        ])

    def test_not_available_yet(self):
        self.check_errors(2, [(line, "available yet") for line in (
            "run add.onnx --reassociate",
        )])

    def test_two_outputs_in_one_place(self):
        self.check_errors(1, [
            ("run add.onnx --json a.json --trace ./a.json", "--json and --trace: both are to be written to"),
            ("run add.onnx --json out --report out/", "--report and --json: both are to be written to"),
        ])

    def test_objects_refuse_what_only_compiling_can_do(self):
        self.check_good("compile add.onnx --arch tiny -o add.tsr")
        self.check_errors(1, [
            ("run add.tsr --precision=bf16", "the formats of an object are fixed"),
            ("whatif add.tsr --precision=bf16 --scale dram=2", "the formats of an object are fixed"),
            ("whatif add.tsr --dim N=2 --scale dram=2", "the dimensions of an object are fixed"),
        ])
        self.check_errors(2, [
            ("run add.onnx --concurrent add.onnx -v", "--verbose is of one model"),
            ("run add.onnx --concurrent add.onnx --explore=2", "--explore is of one model"),
        ])

    def test_explore(self):
        printed = self.check_good("run add.onnx --arch tiny --explore=3 --seed 5")
        self.assertIn("Explored 3 schedules: the same outputs in all", printed)

    def test_concurrent(self):
        self.check_good("run add.onnx --arch tiny --json alone.json")
        printed = self.check_good("run add.onnx --concurrent add.onnx add.onnx --arch tiny "
                                  "--json together.json")
        self.assertIn("3 models at the same time on tiny", printed)
        together = json.loads((self.tmp / "together.json").read_text())
        alone = json.loads((self.tmp / "alone.json").read_text())["cycles"]
        self.assertEqual(len(together["concurrent"]), 3)
        for run in together["concurrent"]:
            self.assertEqual(run["cycles_alone"], alone)
            self.assertGreaterEqual(run["cycles"], alone)
        # One core: they share it, and overlap what is no work of it.
        self.assertGreater(max(r["slowdown"] for r in together["concurrent"]), 1)
        self.assertLess(together["makespan_cycles"], together["sum_alone_cycles"])
        self.check_errors(2, [
            ("run add.onnx --concurrent add.onnx --verify", "--verify is of one model"),
        ])

    def test_dimensions_of_concurrent_models(self):
        """Each model takes the dimensions that it has; one that none has is an error."""
        for models in ("symbolic.onnx --concurrent add.onnx other_symbol.onnx add.tsr symbolic.onnx",
                       "add.tsr --concurrent symbolic.onnx other_symbol.onnx"):
            self.check_good(f"run {models} --dim N=16 --dim M=2048 --arch tiny --json dims.json")
            runs = json.loads((self.tmp / "dims.json").read_text())["concurrent"]
            cycles = {run["model"]: run["cycles_alone"] for run in runs}
            self.assertGreater(cycles["other_symbol.onnx"], 2 * cycles["symbolic.onnx"])
        self.check_errors(1, [
            ("run add.onnx --concurrent symbolic.onnx other_symbol.onnx --dim N=4 --dim M=4 --dim K=3",
             "--dim K=3: no model has such a dimension; they have M, N"),
            ("run add.onnx --concurrent add.tsr --dim N=4",
             "--dim N=4: no model has such a dimension; none has a symbolic one"),
            ("run symbolic.onnx --concurrent other_symbol.onnx --dim N=4", "--dim M=<size>"),
            ("run symbolic.onnx --concurrent add.onnx --dim N=4 --dim N=5", "--dim N: given twice"),
        ])

    def test_checks_and_annotation(self):
        plain = self.check_good("run add.onnx --arch tiny --json plain.json")
        self.check_good("run add.onnx --arch tiny --json checked.json --annotate add.txt "
                        "--sanitize=race,memory,sync")
        cycles = [json.loads((self.tmp / name).read_text())["cycles"]
                  for name in ("plain.json", "checked.json")]
        self.assertEqual(cycles[0], cycles[1])
        text = (self.tmp / "add.txt").read_text()
        self.assertRegex(text, r"\Akernel \S+\n +pc +count +issue +busy +stalled\n")
        self.assertRegex(text, r"\n +\d+ +1 +1 +[1-9]\d* +\d+  isa\.map ")
        self.assertRegex(text, r"engine: .*dram \d+")

    def test_bad_models(self):
        outputs = "--arch tiny --outputs out --json out.json --trace trace.json"
        self.check_errors(1, [(f"run {line} {outputs}", text) for line, text in (
            ("missing.onnx", "missing.onnx"),
            ("none", "is a folder"),
            ("truncated.onnx", "truncated.onnx"),
            ("text.onnx", "text.onnx"),
            ("empty.onnx", "empty.onnx"),
            ("bad.mlir", "bad.mlir:2: "),
            ("symbolic.onnx", "'N'"),
            ("symbolic.onnx --dim M=3", "the model has N"),
        )])
        self.check_errors(1, [("compile text.onnx -o out.tsr", "text.onnx"),
                              ("compile add.tsr -o out.tsr", "add.tsr"),
                              ("info text.onnx", "text.onnx")])

    def test_every_unsupported_node_is_named(self):
        result = self.command("run unsupported.onnx --arch tiny --outputs out")
        self.assertEqual(result.returncode, 1)
        for text in ("'first' (Frobnicate)", "'second' (Unique)"):
            self.assertIn(text, result.stderr)
        self.assertNotIn("'fine'", result.stderr)
        self.assertFalse((self.tmp / "out").exists())

    def test_bad_inputs(self):
        outputs = "--arch tiny --outputs out --json out.json"
        self.check_errors(1, [(f"run add.onnx {line} {outputs}", text) for line, text in (
            ("--input a=a.npy", "'b': is missing"),
            ("--input c=a.npy", "'c'"),
            ("--input a=a.npy --input a=a.npy", "given twice"),
            ("--input a=a.npy --input b=wrong_shape.npy", "'b'"),
            ("--input a=a.npy --input b=wrong_type.npy", "accepted is f32 [4, 8]"),
            ("--input a=a.npy --input b=cut.npy", "cut.npy"),
            ("--input a=a.npy --input b=missing.npy", "missing.npy"),
            ("--input a=a.npy --input b=junk.pb", "junk.pb"),
            ("--input a=a.npy --input b=text.onnx", "neither a .npy nor a .pb"),
            ("--inputs missing", "is no folder"),
            ("--inputs none", "holds neither"),
            ("--inputs gap", "input 1 but not input 0"),
            ("--inputs one", "'b': is missing"),
            ("--inputs three", "input 2; the model has 2"),
            ("--inputs both", "are both input 0"),
            ("--inputs one --input a=a.npy", "given twice"),
        )])

    def test_bad_architectures(self):
        self.check_errors(1, [
            ("run add.onnx --arch nosuch --json out.json", "nosuch"),
            ("run add.onnx --arch missing.yaml --json out.json", "missing.yaml"),
            ("compile add.onnx --arch bad_key.yaml -o out.tsr", "bad_key.yaml:2"),
            ("arch check bad_key.yaml", "frequency"),
            ("arch show nosuch", "tiny"),
        ])

    def test_bad_objects(self):
        self.check_errors(1, [
            ("run add.tsr --arch edge --outputs out", "tiny"),
            ("run flipped.tsr --outputs out", "flipped.tsr"),
            ("run cut.tsr --outputs out", "cut.tsr"),
            ("run no_elf.tsr", "no_elf.tsr"),
            ("disasm flipped.tsr", "flipped.tsr"),
            ("disasm add.onnx", "add.onnx"),
            ("info cut.tsr", "cut.tsr"),
            ("run add.tsr --verify", "--verify"),
            ("run add.tsr --dim N=3", "--dim"),
        ])

    def test_bad_output_places(self):
        self.check_errors(1, [
            ("run add.onnx --arch tiny --json nowhere/out.json", "nowhere"),
            ("run add.onnx --arch tiny --json none", "is a folder"),
            ("run add.onnx --arch tiny --outputs a.npy", "is a file"),
            ("compile add.onnx --arch tiny -o nowhere/out.tsr", "nowhere"),
        ])

    def test_arch(self):
        names = [line.split()[0] for line in self.check_good("arch list").splitlines()]
        self.assertEqual(names, ["tiny", "edge", "server", "gemmini16", "tpuv4like"])
        for name in names:
            mine = self.tmp / "mine.yaml"
            text = self.check_good(f"arch show {name}")
            mine.write_text(text)
            # Every key, given in the preset's file or not; no comments.
            for key in ("clock_ghz", "load_bursts", "depth", "tRCDRD", "latency_ns"):
                self.assertIn(f"{key}: ", text)
            self.assertNotIn("#", text)
            self.assertIn("valid", self.check_good("arch check mine.yaml"))
            mine.unlink()

    def test_run_and_verify(self):
        out = self.tmp / "verified"
        self.check_good(f"run add.onnx --arch tiny --input a=a.npy --input b=a.pb --verify "
                        f"--outputs {out} --json {out}.json")
        data = (out / "0.npy").read_bytes()
        self.assertEqual(struct.unpack("<32f", data[-128:]), tuple(0.5 + i for i in range(32)))
        listed = json.loads((out / "outputs.json").read_text())
        self.assertEqual(listed, [{"name": "y", "type": "f32", "shape": [4, 8], "file": "0.npy"}])
        report = json.loads(pathlib.Path(f"{out}.json").read_text())
        self.assertEqual((report["schema"], report["arch"], report["model"]), (1, "tiny", "add.onnx"))
        self.assertEqual([o["ok"] for o in report["outputs"]], [True])

    def test_verify_each_dispatch(self):
        shape = self.check_good(f"run {DIGITS} --arch tiny --dim N=3 --verify=each --outputs each")
        self.assertRegex(shape, r"([2-9]|\d\d) of \1 dispatches compared agree")
        # What belongs to dispatches is no output of the model.
        self.assertEqual(len(list((self.tmp / "each").glob("*.npy"))), 1)

    def test_work_of_layers(self):
        text = self.check_good(f"info {DIGITS} --dim N=2 --layers")
        self.assertRegex(text, r"work +\d+ multiply-adds")
        self.assertRegex(text, r"matmul|conv")
        self.assertIn("--dim N=", self.check_good(f"info {DIGITS}"))

    def test_object_of_the_same_model(self):
        for name, program in (("model", "add.onnx --arch tiny"), ("object", "add.tsr")):
            self.check_good(f"run {program} --seed 7 --outputs {name}")
        self.assertEqual((self.tmp / "model" / "0.npy").read_bytes(),
                         (self.tmp / "object" / "0.npy").read_bytes())
        self.assertIn("add", self.check_good("info add.tsr"))
        self.assertIn("halt", self.check_good("disasm add.tsr"))
        self.assertIn("Add", self.check_good("info add.onnx"))

    def test_seeds(self):
        outputs = []
        for name, seed in (("s1", 1), ("s1again", 1), ("s2", 2)):
            self.check_good(f"run add.tsr --seed {seed} --outputs {name}")
            outputs.append((self.tmp / name / "0.npy").read_bytes())
        self.assertEqual(outputs[0], outputs[1])
        self.assertNotEqual(outputs[0], outputs[2])

    def test_symbolic_dimensions(self):
        self.check_good("run symbolic.onnx --arch tiny --dim N=5 --verify")
        self.check_good("run symbolic.onnx --arch tiny --inputs one --verify")
        self.check_errors(1, [("run symbolic.onnx --arch tiny --dim N=5 --inputs one", "N")])

    def test_timing_only(self):
        cycles = []
        for name, option in (("timed", "--timing-only"), ("full", "")):
            self.check_good(f"run add.tsr {option} --json {name}.json")
            cycles.append(json.loads((self.tmp / f"{name}.json").read_text())["cycles"])
        self.assertEqual(cycles[0], cycles[1])

    def test_compile_levels_and_dump(self):
        for level in ("graph", "tile", "isa", "device"):
            self.check_good(f"compile add.onnx --arch tiny --emit={level} -o add.{level}.mlir")
            self.assertTrue((self.tmp / f"add.{level}.mlir").read_text())
        self.check_errors(1, [("compile add.onnx --arch tiny --dump-after=nosuch -o x.tsr", "nosuch")])


if __name__ == "__main__":
    unittest.main()
