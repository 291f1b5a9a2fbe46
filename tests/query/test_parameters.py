"""Values of parameters: what JSON gives, what a column would store, and what is refused by name."""

from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pytest

from omnigraph.errors import InvalidTarget, ParamError
from omnigraph.query.parameters import bind_parameters
from support.sailing import crew_graph
from support.sailors import check, sailors

SAILORS = sailors()


def bind(declared, **given):
    return bind_parameters(query(f"$p: {declared}"), given)


def query(parameters, rest=""):
    return check(f"query q({parameters}) {{ match {{ $s: Sailor }} return {{ $s.name }} {rest} }}", SAILORS)


@pytest.mark.parametrize(
    ("declared", "value", "stored"),
    [
        ("String", "Ana", "Ana"),
        ("String", "", ""),
        ("Blob", "base64:QQ==", "base64:QQ=="),
        ("I32", 5, 5),
        ("I32", "-5", -5),
        ("U64", 2**64 - 1, 2**64 - 1),
        ("U64", str(2**64 - 1), 2**64 - 1),
        ("F64", 5, 5.0),
        ("F64", 0.1, 0.1),
        ("F32", 0.1, 0.10000000149011612),
        ("Bool", True, True),
        ("Date", "1970-01-02", 1),
        ("Date", "19700102", 1),
        ("DateTime", "1970-01-01T01:00:01+01:00", 1000),
        ("[I32]", [1, "2"], (1, 2)),
        ("[String]", [], ()),
        ("Vector(2)", [1, 0.5], (1.0, 0.5)),
        ("I32?", None, None),
        ("[I32]?", None, None),
    ],
)
def test_values_that_are_taken(declared, value, stored):
    assert bind(declared, p=value) == {"p": stored}


@pytest.mark.parametrize(
    ("declared", "value", "stored"),
    [
        ("Date", date(1970, 1, 2), 1),
        ("DateTime", datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), 1000),
        ("DateTime", datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), 0),
        ("DateTime", pd.Timestamp("1970-01-01T00:00:02Z"), 2000),
        ("DateTime?", pd.NaT, None),
        ("I32?", pd.NA, None),
        ("I64", np.int64(5), 5),
        ("U64", np.uint64(2**64 - 1), 2**64 - 1),
        ("F64", np.float32(0.5), 0.5),
        ("F64", np.float64(0.1), 0.1),
        ("Bool", np.bool_(True), True),
        ("String", np.str_("Ana"), "Ana"),
        ("Blob", b"A", "base64:QQ=="),
        ("[I32]", (1, np.int32(2)), (1, 2)),
        ("[Date]", [date(1970, 1, 2), "1970-01-03"], (1, 2)),
        ("Vector(2)", np.array([1, 0.5], np.float32), (1.0, 0.5)),
    ],
)
def test_values_of_a_program_are_taken_as_json_would_spell_them(declared, value, stored):
    assert bind(declared, p=value) == {"p": stored}


@pytest.mark.parametrize(
    ("declared", "value", "words"),
    [
        ("String", object(), ["object"]),
        ("Date", timedelta(days=1), ["timedelta"]),
        ("[I32]", {1}, ["set"]),
        ("I32", {"a": 1}, ["'a'"]),
        ("I32", np.float64(5), ["5.0"]),
        ("String", 5, ["5"]),
        ("String", "\ud800", ["surrogate"]),
        ("Blob", 5, ["Blob"]),
        ("I32", 5.0, ["I32", "5.0"]),
        ("I32", "5.0", ["I32", "5.0"]),
        ("I32", True, ["I32", "True"]),
        ("I32", 2**31, ["I32", str(2**31)]),
        ("I64", "9" * 400, ["I64"]),
        ("U32", -1, ["U32", "-1"]),
        ("F64", "5", ["F64"]),
        ("F64", float("nan"), ["finite"]),
        ("F64", 10**400, ["F64"]),
        ("F32", 1e39, ["F32"]),
        ("F64", True, ["F64"]),
        ("Bool", 1, ["Bool"]),
        ("Date", "tomorrow", ["tomorrow"]),
        ("Date", 5, ["Date"]),
        ("DateTime", "2026-13-01", ["2026-13-01"]),
        ("[I32]", 5, ["array"]),
        ("[I32]", [1, None], ["None"]),
        ("[I32]", [1, "x"], ["x"]),
        ("Vector(2)", [1.0], ["2", "1"]),
        ("Vector(2)", [1.0, None], ["None"]),
        ("Vector(2)", "text", ["array"]),
        ("I32", None, ["null"]),
    ],
)
def test_values_that_are_refused_by_name(declared, value, words):
    with pytest.raises(ParamError) as refused:
        bind(declared, p=value)

    error = refused.value
    assert [word for word in ("$p", declared, *words) if word not in error.message] == []
    assert error.details == {"param": "p", "expected": declared}
    assert (error.kind, error.exit_code) == ("param_error", 1)


def test_an_omitted_parameter_is_null_or_missing():
    assert bind("I32?") == {"p": None}
    with pytest.raises(ParamError, match=r"`\$p`.*is missing"):
        bind("I32")


def test_a_parameter_that_is_not_declared_is_refused():
    with pytest.raises(ParamError, match=r"`\$naem`; did you mean `\$name`"):
        bind_parameters(query("$name: String"), {"name": "x", "naem": "y"})
    with pytest.raises(ParamError, match="declares none"):
        bind_parameters(query(""), {"x": 1})


@pytest.mark.parametrize(("value", "word"), [(None, "null"), (-1, "-1")])
def test_a_limit_is_a_number_from_nought_up(value, word):
    limited = query("$n: I64?", "limit $n")

    assert bind_parameters(limited, {"n": 0}) == {"n": 0}
    with pytest.raises(ParamError) as refused:
        bind_parameters(limited, {"n": value})
    assert word in refused.value.message


def test_a_parameter_comes_once_however_a_query_is_asked(tmp_path) -> None:
    graph = crew_graph(str(tmp_path / "crew.omni"))
    text = "query q($k: String) { match { $s: Sailor { name: $k } } return { $s.name } }"
    with graph.snapshot() as snapshot:
        for ask in (
            lambda **given: graph.query(text, **given),
            lambda **given: graph.explain(text, analyze=True, **given),
            lambda **given: snapshot.query(text, **given),
            lambda params, **given: graph.prepare(text).run(params, **given),
            lambda **given: graph.mutate("query d($k: String) { delete Sailor where name = $k }", **given),
        ):
            with pytest.raises(InvalidTarget, match="The parameter k is given by name and in params; give it once"):
                ask(params={"k": "Ana"}, k="Bo")
        assert len(snapshot.query(text, params={"k": "Ana"})) == len(snapshot.query(text, k="Ana")) == 1
