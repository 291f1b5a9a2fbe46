"""A package that the command line does without is not loaded, and one that Spark needs can be had again."""

import subprocess
import sys
from pathlib import Path

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


MANUAL = """
import sys
from omnigraph.base.hidden_modules import skip_arrow_manual
skip_arrow_manual()
import pyarrow as pa
import pyarrow.compute as pc
assert pc.sum(pa.array([1, 2])).as_py() == 3
assert pc.round(pa.array([1.25]), ndigits=1, round_mode="half_to_even").to_pylist() == [1.2]
from pyarrow.vendored import docscrape
print(docscrape.Reader.__name__, docscrape.NumpyDocString("x.\\n\\nParameters\\n----------\\na : b\\n")["Parameters"])
"""


def test_arrow_works_without_its_manual_and_the_manual_can_be_had() -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", MANUAL], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout.strip()) == (0, "Reader ()"), done.stderr


DEFERRED = """
import sys
from omnigraph.base.hidden_modules import defer_module, hide_module
hide_module("pandas")
defer_module("numpy")
import pyarrow as pa
import pyarrow.compute as pc
import lance
assert pc.sum(pa.array([1, None, 2])).as_py() == 3
assert "numpy._core" not in sys.modules, "somebody loaded it all the same"
import numpy as np
from threading import Thread
found = []
threads = [Thread(target=lambda: found.append(int(np.arange(5).sum()))) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
import numpy.random
assert "numpy._core" in sys.modules and sys.modules["numpy"].__file__
print(found)
"""


def test_a_deferred_numpy_is_loaded_by_whoever_uses_it_and_not_by_arrow() -> None:
    done = subprocess.run([sys.executable, "-c", DEFERRED], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, str([10] * 8), "")


REPLACING = """
import sys
from omnigraph.base.hidden_modules import defer_module, hide_module
defer_module("numpy")
hide_module("pandas")
import omnigraph
graph = omnigraph.init(sys.argv[1], "node Port { code: String @key  tons: I32? }")
for tons in (1, 2):
    with graph.write() as batch:
        batch.upsert("Port", [{"code": "a", "tons": tons}, {"code": "b", "tons": 1}])
assert graph.snapshot().table("Port").to_arrow(["code", "tons"]).to_pylist()[-1] == {"code": "a", "tons": 2}
"""


def test_rows_are_replaced_without_numpy(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", REPLACING, str(tmp_path / "graph.omni")], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
