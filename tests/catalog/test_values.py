import pytest

from omnigraph.catalog.model import PropertyType, Scalar
from omnigraph.catalog.values import ValueRefusedError, nearest_float32, stored_value

TABLE = {
    Scalar.DATE: [
        ("2031-07-15", 22475),
        ("20310715", 22475),
        ("2031-7-15", 22475),
        (22475, 22475),
        ("2031-07-15T23:30:00-02:00", 22476),
        ("0001-01-01", -719162),
        ("9999-12-31", 2932896),
        (-(2**31), -(2**31)),
    ],
    Scalar.DATETIME: [
        ("2031-07-15T06:30:00Z", 1941863400000),
        ("2031-07-15T08:30:00+02:00", 1941863400000),
        ("2031-07-15T08:30:00+0200", 1941863400000),
        ("2031-07-15T08:30:00+02", 1941863400000),
        ("2031-07-15 06:30", 1941863400000),
        ("2031-07-15T06:30", 1941863400000),
        ("2031-07-15", 1941840000000),
        ("1969-12-31T23:59:59.9999Z", -1),
        ("1970-01-01T00:00:00.5", 500),
        (1941863400000, 1941863400000),
    ],
    Scalar.I32: [(30, 30), (30.0, 30), (-(2**31), -(2**31))],
    Scalar.U64: [(18446744073709551615, 18446744073709551615)],
    Scalar.I64: [(float(2**53), 2**53)],
    Scalar.F32: [(0.1, 0.10000000149011612), (16777217, 16777216.0), (1, 1.0)],
    Scalar.F64: [(0.1, 0.1), (2**64 - 1, 18446744073709551616.0)],
    Scalar.STRING: [("", ""), ("5", "5")],
    Scalar.BOOL: [(True, True)],
}
REFUSED = {
    Scalar.DATE: ["2031-02-30", "15.07.2031", "soon", 22475.0, True, "2031-0715", "0000-01-01", 2**31, "2031-07-15 "],
    Scalar.DATETIME: [
        "2031-07-15T23:59:60Z",
        "2031-07-15T24:00:00Z",
        "06:30",
        "2031-07-15T6:30",
        "2031-07-15T06:30:00+2",
        "2031-07-15T06:30:00+24:00",
        "2031-07-15T06:30:00.Z",
        "2031-07-15T06:30:00z",
        "٢٠٣١-07-15",
        2**63,
        1.0,
    ],
    Scalar.I32: [30.5, "30", True, 2**31, -(2**31) - 1],
    Scalar.U32: [-1, 2**32],
    Scalar.I64: [float(2**54), 2**63],
    Scalar.U64: [2**64, -1],
    Scalar.F32: ["1", True, 1e39],
    Scalar.F64: ["1", False],
    Scalar.STRING: [5, True, 1.5],
    Scalar.BOOL: [1, 0, "true"],
}


@pytest.mark.parametrize(
    ("scalar", "value", "stored"), [(scalar, *case) for scalar, cases in TABLE.items() for case in cases]
)
def test_value_is_stored_as(scalar, value, stored):
    found = stored_value(value, PropertyType(scalar=scalar))

    assert found == stored
    assert type(found) is type(stored)


@pytest.mark.parametrize(("scalar", "value"), [(scalar, value) for scalar, cases in REFUSED.items() for value in cases])
def test_value_is_refused(scalar, value):
    with pytest.raises(ValueRefusedError):
        stored_value(value, PropertyType(scalar=scalar))


def test_enum_takes_its_values_exactly():
    declared = PropertyType(scalar=Scalar.STRING, enum_values=("a", "b"))

    assert stored_value("a", declared) == "a"
    with pytest.raises(ValueRefusedError, match=r"a, b"):
        stored_value("A", declared)


def test_largest_float32_is_kept_and_its_neighbour_is_refused():
    largest = 3.4028234663852886e38

    assert nearest_float32(largest) == largest
    with pytest.raises(ValueRefusedError):
        nearest_float32(3.4028236e38)
