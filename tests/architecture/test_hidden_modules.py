"""A package that the command line does without is not loaded, and one that Spark needs can be had again."""

import subprocess
import sys

HIDDEN = """
import importlib.util, sys
from omnigraph.base.hidden_modules import hide_module, reveal_module
hide_module("pandas")
import pyarrow as pa
assert pa.array([1, None]).null_count == 1
assert "pandas" not in sys.modules, "Arrow loaded it all the same"
assert importlib.util.find_spec("pandas") is not None, "those who only look must not be surprised"
try:
    import pandas
except ModuleNotFoundError as refused:
    assert refused.name == "pandas"
else:
    raise AssertionError("was loaded")
reveal_module("pandas")
import pandas
print(pandas.DataFrame({"n": [1]}).shape)
"""


def test_arrow_does_without_a_hidden_pandas_until_it_is_revealed() -> None:
    done = subprocess.run([sys.executable, "-c", HIDDEN], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout.strip()) == (0, "(1, 1)"), done.stderr
