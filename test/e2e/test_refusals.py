#!/usr/bin/env python3
"""A model that cannot be imported is refused with all that is in the way, named at once."""

import pathlib
import re
import tempfile
import unittest

import numpy as np

from common import tessera
from onnx_writer import Graph, attribute, block, number, value_info


def inner_graph(name, inputs, nodes, outputs):
    return (b"".join(block(1, n) for n in nodes) + block(2, name) +
            b"".join(block(11, i) for i in inputs) + b"".join(block(12, o) for o in outputs))


def node(op, inputs, outputs, name, *attributes, domain=""):
    return (b"".join(block(1, i) for i in inputs) + b"".join(block(2, o) for o in outputs) +
            block(3, name) + block(4, op) + b"".join(block(5, a) for a in attributes) +
            (block(7, domain) if domain else b""))


def graph_attribute(name, graph):
    return block(1, name) + block(6, graph) + number(20, 5)


def floats(name, *shape):
    return value_info(name, "float32", shape)


def loop(name, trips, condition, x, y, *inner, keep="c"):
    """y = Relu(x), again and again; the condition of the next iteration is `keep`."""
    body = inner_graph("body", [value_info("i", "int64", []), value_info("c", "bool", []),
                                floats("v", 4)],
                       [node("Relu", ["v"], ["w"], "relu"), *inner],
                       [value_info(keep, "bool", []), floats("w", 4)])
    return node("Loop", [trips, condition, x], [y], name, graph_attribute("body", body))


class Refusals(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.tmp = pathlib.Path(self.folder.name)

    def refused(self, data, *names):
        """The error's lines; each of `names` has one of its own, and there are no others."""
        (self.tmp / "m.onnx").write_bytes(data)
        result = tessera("run", self.tmp / "m.onnx")
        self.assertEqual(result.returncode, 1, result.stdout)
        # `info` says the same, but it is no error to ask.
        told = tessera("info", self.tmp / "m.onnx")
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertIn(result.stderr.removeprefix("error: ").strip(), told.stdout)
        lines = [x for x in result.stderr.splitlines() if not x.startswith("  known operators")]
        if len(names) > 1:
            self.assertIn(f"{len(names)} problems:", lines.pop(0))
        self.assertEqual(len(lines), len(names), result.stderr)
        for name in names:
            self.assertTrue(any(re.search(name, x) for x in lines), f"{name} in\n{result.stderr}")
        return lines

    def graph(self, *nodes, inputs=(), output="y", shape=(4,)):
        graph = Graph(17, "refused")
        graph.input("x", "float32", shape)
        for name, dtype, extents in inputs:
            graph.input(name, dtype, extents)
        graph.nodes += [block(1, n) for n in nodes]
        graph.outputs.append(block(12, floats(output, *shape)))
        return graph.bytes()

    def test_every_loop_of_unknown_length(self):
        """Those that depend on each other, that a reshaped number decides, and inner ones."""
        scalar = [("n", "int64", []), ("k", "float32", [])]
        data = self.graph(
            loop("first", "n", "", "x", "a"), node("Cast", ["k"], ["m"], "cast", attribute("to", 7)),
            loop("second", "m", "", "a", "b"),
            loop("outer", "", "t", "b", "y",
                 loop("inner", "m", "", "v", "u"), node("Not", ["c"], ["d"], "not"), keep="d"),
            node("Not", ["f"], ["t"], "not"), node("Cast", ["k"], ["f"], "flag", attribute("to", 9)),
            inputs=scalar)
        lines = self.refused(data, r"'first' \(Loop\): the number of iterations is computed",
                             r"'second' \(Loop\): the number of iterations",
                             r"'outer' \(Loop\): whether there is a further iteration",
                             r"'outer' \(Loop\): node 'inner' \(Loop\): the number of iterations")
        self.assertTrue(lines)

    def test_condition_from_a_carried_value(self):
        """The condition is what the body computes of a missing value, two iterations late."""
        body = inner_graph(
            "body", [value_info("i", "int64", []), value_info("c", "bool", []), floats("v"),
                     value_info("p", "bool", [])],
            [node("Relu", ["v"], ["w"], "relu"), node("Cast", ["v"], ["q"], "test", attribute("to", 9)),
             node("Identity", ["p"], ["next"], "late")],
            [value_info("next", "bool", []), floats("w"), value_info("q", "bool", [])])
        graph = Graph(17, "late")
        graph.input("x", "float32", [])
        graph.weight("t", np.array(True))
        graph.weight("n", np.array(3))
        graph.nodes += [block(1, node("Strange", ["x"], ["s"], "strange")),
                        block(1, node("Loop", ["n", "t", "s", "t"], ["y", "z"], "late",
                                      graph_attribute("body", body)))]
        graph.outputs.append(block(12, floats("y")))
        self.refused(graph.bytes(), "'strange'", r"'late' \(Loop\): whether there is a further iteration")
        # The condition of each iteration is known: only the operator is in the way.
        known = inner_graph(
            "body", [value_info("i", "int64", []), value_info("c", "bool", []), floats("v")],
            [node("Relu", ["v"], ["w"], "relu"), node("Less", ["i", "n"], ["next"], "less")],
            [value_info("next", "bool", []), floats("w")])
        graph.nodes[1] = block(1, node("Loop", ["", "t", "s"], ["y"], "late",
                                       graph_attribute("body", known)))
        self.refused(graph.bytes(), "'strange'")

    def test_with_unknown_shapes(self):
        """Nodes are named though a dimension is open, in graphs and functions too."""
        branch = inner_graph("b", [], [node("Odd", ["x"], ["o"], "inner")], [floats("o", "N")])
        data = self.graph(
            node("Abs", ["x"], ["a"], "good"), node("Strange", ["a"], ["s"], "strange"),
            node("Of", ["s"], ["o"], "own", domain="mine"),
            node("If", ["c"], ["u"], "if", graph_attribute("then_branch", branch),
                 graph_attribute("else_branch", branch)),
            node("Twice", ["u"], ["y"], "call", domain="here"),
            node("Twice", ["y"], ["z"], "again", domain="here"),
            inputs=[("c", "bool", [])], shape=("N",))
        function = (block(1, "Twice") + block(4, "p") + block(5, "q") +
                    block(7, node("Peculiar", ["p"], ["q"], "body")) +
                    block(9, block(1, "") + number(2, 17)) + block(10, "here"))
        data += block(25, function)
        self.refused(data, "input 'x': dimension 0 is the symbolic 'N'", r"'strange' \(Strange\): unknown",
                     "'own'.*domain 'mine'", r"'if' \(If\): node 'inner' \(Odd\)",
                     r"'if' \(If\): node 'inner' \(Odd\)",
                     r"'call' \(Twice\): node 'body' \(Peculiar\)")

    def test_open_shapes_that_are_no_problem(self):
        """Shapes of shapes and inputs that decide shapes are known once the inputs are."""
        graph = Graph(17, "open")
        graph.input("x", "float32", ["N", 4])
        graph.input("shape", "int64", [2])
        a = graph.node("Reshape", ["x", "shape"])
        graph.output("y", graph.node("Expand", ["x", graph.node("Shape", [a])]), "float32", ["A", "B"])
        self.refused(graph.bytes(), "input 'x': dimension 0 is the symbolic 'N'")

    def test_strings_sequences_and_optional_values(self):
        def typed(name, field):
            element = block(1, number(1, 1) + block(2, block(1, number(1, 4))))
            return block(1, name) + block(2, block(field, block(1, element)))
        for field, kind in [(4, "a sequence"), (9, "an optional value")]:
            graph = Graph(17, "kinds")
            graph.inputs += [block(11, typed("s", field)), block(11, value_info("t", "string", [4]))]
            graph.nodes += [block(1, n) for n in [
                node("SequenceAt", ["s"], ["a"], "at"), node("Cast", ["a"], ["b"], "text", attribute("to", 8)),
                node("StringConcat", ["t", "b"], ["y"], "concat")]]
            graph.outputs.append(block(12, floats("y", 4)))
            self.refused(graph.bytes(), f"input 's' is {kind}; accepted are tensors",
                         "input 't': has elements of type string", r"'at' \(SequenceAt\): unknown",
                         r"'text' \(Cast\): converts to string", r"'concat' \(StringConcat\)")

    def test_counts_are_whole_numbers(self):
        for command, option in (("generate", "--tokens"), ("run", "--explore")):
            for text in ("0", "-3", "1e3", "99999999999999999999999"):
                result = tessera(command, "m.onnx", f"{option}={text}")
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(f"{option}: '{text}' is not a whole number from 1 on", result.stderr)
                self.assertLess(len(result.stderr), 200)


if __name__ == "__main__":
    unittest.main()
