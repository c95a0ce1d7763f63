"""The lit suite: IR tests, run as `lit build/<preset>/test`.

In RUN lines `tessera-opt` means test/roundtrip.py, which runs it and then checks
that its output parses and prints the same again.
"""

import os
import sys

import lit.formats

config.name = "Tessera"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.excludes = ["Inputs", "unit", "e2e", "fuzz", "bench"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.tessera_binary_dir, "test")

path = [config.tessera_tools_dir, config.llvm_tools_dir, config.environment.get("PATH", "")]
config.environment["PATH"] = os.pathsep.join(path)
config.environment["FILECHECK_OPTS"] = "--allow-unused-prefixes=false"

tessera_opt = os.path.join(config.tessera_tools_dir, "tessera-opt")
round_trip = os.path.join(config.test_source_root, "roundtrip.py")
config.substitutions.append(
    (r"(?<![-./\w])tessera-opt(?![-./\w])", f'"{sys.executable}" "{round_trip}" "{tessera_opt}"'))
