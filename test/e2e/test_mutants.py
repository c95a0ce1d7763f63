"""Every planted bug is killed by the scenario that docs/kill-matrix.md names."""

import importlib.util
import os
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BIN = pathlib.Path(os.environ.get("TESSERA_BIN", ROOT / "build" / "release" / "bin"))


def load_tool():
    spec = importlib.util.spec_from_file_location("kill_matrix", ROOT / "tools" / "kill-matrix.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Mutants(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tool = load_tool()
        cls.program = str(BIN / "conformance-mutants")
        cls.mutants = cls.tool.mutants(cls.program)

    def test_each_is_killed(self):
        for name, killer, _ in self.mutants:
            with self.subTest(name):
                failed = self.tool.failures(self.program, name, [killer])
                self.assertTrue(failed, f"{name} survives {killer}")

    def test_killers_pass_without_them(self):
        killers = sorted({killer for _, killer, _ in self.mutants})
        self.assertEqual(self.tool.failures(self.program, None, killers), [])

    def test_page_is_current(self):
        page = (ROOT / "docs" / "kill-matrix.md").read_text()
        rows = re.findall(r"^\| `([^`]+)` \| (.*) \| (\w+) \| (.*) \|$", page, re.M)
        self.assertEqual([(n, k, d) for n, d, k, _ in rows], [tuple(m) for m in self.mutants])
        for name, _, killer, failed in rows:
            self.assertIn(killer, failed.split(", "), name)

    def test_every_switch_is_known(self):
        used = set()
        for folder in ("runtime", "sim", "lib", "include"):
            for path in (ROOT / folder).rglob("*"):
                if path.suffix in (".cpp", ".h") and path.name != "Mutant.h":
                    used |= set(re.findall(r'TESSERA_MUTANT\(\s*"([^"]+)"', path.read_text()))
        self.assertEqual(used, {name for name, _, _ in self.mutants})


if __name__ == "__main__":
    unittest.main()
