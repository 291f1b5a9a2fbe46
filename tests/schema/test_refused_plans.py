"""Which differences between two schemas are refused, and with which codes."""

import pytest

from omnigraph.catalog.compile import compile_schema, compile_shape
from omnigraph.catalog.migration import Tier, UnsupportedChange, UpdateTypeMetadata, plan_migration, resolve


def plan(old, new):
    accepted = compile_schema(old, source="jobs.pg", identity_domain="01JQ0000000000000000000000")
    resolution = resolve(accepted, compile_shape(new, source="jobs.pg"))
    return plan_migration(accepted, resolution, allow_data_loss=False)


def refused(old, new):
    """Return entity and code of every unsupported step."""
    planned = plan(old, new)
    return [(step.entity, step.code.value) for step in planned.steps if isinstance(step, UnsupportedChange)]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        # @unique
        ("x: I32", "x: I32 @unique", [("node:A.x", "OG-MF-101")]),
        ("x: I32  y: I32", "x: I32  y: I32  @unique(x, y)", [("node:A", "OG-MF-101")]),
        ("x: I32 @unique  y: I32", "x: I32  y: I32  @unique(x, y)", [("node:A", "OG-MF-101")]),
        ("x: I32  y: I32  @unique(x, y)", "x: I32 @unique  y: I32", [("node:A.x", "OG-MF-101")]),
        ("x: I32 @unique  y: I32", "x: I32  y: I32 @unique", [("node:A.x", "OG-CD-101"), ("node:A.y", "OG-MF-101")]),
        ("", "x: I32? @unique", [("node:A.x", "OG-MF-101")]),
        # @key
        ("x: I32", "x: I32 @key", [("node:A.x", "OG-MF-102")]),
        ("x: I32 @key", "x: I32", [("node:A.x", "OG-MF-102")]),
        ("x: I32 @key  y: I32", "x: I32  y: I32 @key", [("node:A.y", "OG-MF-102")]),
        ("x: I32 @key  y: I32", "x: I32  y: I32  @key(x, y)", [("node:A", "OG-MF-102")]),
        ("x: I32  y: I32  @key(x, y)", "x: I32 @key", [("node:A.y", "OG-MF-102")]),
        ("x: I32 @key", "", [("node:A.x", "OG-MF-102")]),
        ("x: I32 @key  y: I32", "y: I32 @key", [("node:A.x", "OG-MF-102"), ("node:A.y", "OG-MF-102")]),
        # required properties
        ("", "x: I32", [("node:A.x", "OG-MF-103")]),
        ("", "v: Vector(2)", [("node:A.v", "OG-MF-103")]),
        ("x: I32?", "x: I32", [("node:A.x", "OG-MF-104")]),
        ("x: enum(a)?", "x: enum(a)", [("node:A.x", "OG-MF-104")]),
        ("x: [I32]?", "x: [I32]", [("node:A.x", "OG-MF-104")]),
        # @range and @check
        ("x: I32", "x: I32  @range(x, 0..)", [("node:A.x", "OG-MF-105")]),
        ("x: I32  @range(x, 0..)", "x: I32  @range(x, 0..9)", [("node:A.x", "OG-MF-105")]),
        ("x: String", 'x: String  @check(x, "a")', [("node:A.x", "OG-MF-105")]),
        ('x: String  @check(x, "a")', 'x: String  @check(x, "b")', [("node:A.x", "OG-MF-105")]),
        # other types
        ("x: I32", "x: I64", [("node:A.x", "OG-MF-106")]),
        ("x: I32", "x: [I32]", [("node:A.x", "OG-MF-106")]),
        ("x: Vector(2)", "x: Vector(3)", [("node:A.x", "OG-MF-106")]),
        ("x: I32", "x: I32?", [("node:A.x", "OG-MF-106")]),
        ("x: I32?", "x: I64", [("node:A.x", "OG-MF-106")]),
        ("x: enum(a, b)", "x: enum(a)", [("node:A.x", "OG-MF-106")]),
        ("x: enum(a, b)", "x: enum(a, c)", [("node:A.x", "OG-MF-106")]),
        ("x: enum(a, b)", "x: String", [("node:A.x", "OG-MF-106")]),
        ("x: String", "x: enum(a, b)", [("node:A.x", "OG-MF-106")]),
        ("x: enum(a)", "x: enum(a, b)?", [("node:A.x", "OG-MF-106")]),
        ("x: enum(a)?", "x: enum(a, b)", [("node:A.x", "OG-MF-106")]),
        # lost constraints
        ("x: I32 @unique", "x: I32", [("node:A.x", "OG-CD-101")]),
        ("x: I32 @index", "x: I32", [("node:A.x", "OG-CD-101")]),
        ("x: I32  y: I32  @index(x, y)", "x: I32 @index  y: I32 @index", [("node:A", "OG-CD-101")]),
        ("x: I32  @range(x, 0..)", "x: I32", [("node:A.x", "OG-CD-101")]),
        ('x: String  @check(x, "a")', "x: String", [("node:A.x", "OG-CD-101")]),
        # annotations that are not metadata
        ("x: I32", "x: I32 @unit(meter)", [("node:A.x", "OG-BC-106")]),
        ("x: I32 @unit(meter)", "x: I32", [("node:A.x", "OG-BC-106")]),
        ("x: I32 @unit(meter)", 'x: I32 @unit(meter, scale="k")', [("node:A.x", "OG-BC-106")]),
        ("x: I32 @level(1)", "x: I32 @level(true)", [("node:A.x", "OG-BC-106")]),
        ("x: I32 @level(1)", "x: I32 @level(1.0)", [("node:A.x", "OG-BC-106")]),
        ("x: I32 @tag(a)", "x: I32 @tag(a) @tag(a)", [("node:A.x", "OG-BC-106")]),
        # @embed
        ("t: String  v: Vector(2)", "t: String  v: Vector(2) @embed(t)", [("node:A.v", "OG-VE-101")]),
        ("t: String  v: Vector(2) @embed(t)", "t: String  v: Vector(2)", [("node:A.v", "OG-VE-101")]),
        (
            "t: String  u: String  v: Vector(2) @embed(t)",
            "t: String  u: String  v: Vector(2) @embed(u)",
            [("node:A.v", "OG-VE-101")],
        ),
        (
            'u: String  t: String  v: Vector(2) @embed(t, model="m1")',
            'u: String  t: String  v: Vector(2) @embed(t, model="m2")',
            [("node:A.v", "OG-VE-101")],
        ),
    ],
)
def test_changes_to_a_node_body_that_are_refused(old, new, expected):
    assert refused(f"node A {{ {old} }}", f"node A {{ {new} }}") == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "node A { } node B { } edge E: A -> A",
            "node A { } node B { } edge E: A -> B",
            [("edge:E", "OG-ED-101")],
        ),
        ("node A { } edge E: A -> A", "node B { } edge E: B -> B", [("edge:E", "OG-ED-101")]),
        ("node A { } edge E: A -> A", "node A { } edge E: A -> A @card(0..1)", [("edge:E", "OG-ED-102")]),
        ("node A { } edge E: A -> A @card(1..)", "node A { } edge E: A -> A", [("edge:E", "OG-ED-102")]),
        ("node A { } edge E: A -> A", "node A { } edge E: A -> A { @unique(src, dst) }", [("edge:E", "OG-MF-101")]),
        ("node A { } edge E: A -> A", "node A { } edge E: A -> A { @unique(src) }", [("edge:E", "OG-MF-101")]),
        ("node A { } edge E: A -> A { @index(dst) }", "node A { } edge E: A -> A", [("edge:E", "OG-CD-101")]),
        ("node A { }", "node A @level(1) { }", [("node:A", "OG-BC-106")]),
        ("node A { } edge E: A -> A", "node A { } edge E: A -> A @level(1)", [("edge:E", "OG-BC-106")]),
        ("interface I { } node A { }", "node A { }", [("interface:I", "OG-BC-102")]),
        ("interface I { x: I32? }", "interface J { x: I32? }", [("interface:I", "OG-BC-102")]),
        ("interface I { } node A { }", "interface I { } node A implements I { }", [("node:A", "OG-BC-103")]),
        ("interface I { } node A implements I { }", "interface I { } node A { }", [("node:A", "OG-BC-103")]),
        (
            "interface I { x: I32? } node A implements I { }",
            "interface I { x: I32? } node A implements I { x: I32? }",
            [("node:A.x", "OG-BC-104")],
        ),
        (
            "interface I { x: I32? } node A implements I { x: I32? }",
            "interface I { x: I32? } node A implements I { }",
            [("node:A.x", "OG-BC-104")],
        ),
        (
            "interface I { } node A implements I { x: I32? }",
            "interface I { x: I32? } node A implements I { x: I32? }",
            [("node:A.x", "OG-BC-105")],
        ),
        (
            "interface I { x: I32? } node A implements I { x: I32? }",
            "interface I { } node A implements I { x: I32? }",
            [("node:A.x", "OG-BC-105")],
        ),
        (
            "interface I { x: I32? } node A implements I { }",
            "interface I { x: I64? } node A implements I { }",
            [("interface:I.x", "OG-MF-106"), ("node:A.x", "OG-MF-106")],
        ),
        ("interface I { }", "interface I { x: I32 }", [("interface:I.x", "OG-MF-103")]),
    ],
)
def test_changes_to_headers_and_interfaces_that_are_refused(old, new, expected):
    assert refused(old, new) == expected


def test_a_refused_key_drop_is_not_also_a_drop():
    assert [type(step) for step in plan("node A { x: I32 @key }", "node A { }").steps] == [UnsupportedChange]


def test_metadata_and_other_annotations_are_told_apart():
    planned = plan('node A @description("a") @level(1) { }', 'node A @description("b") @level(2) { }')

    assert [type(step) for step in planned.steps] == [UpdateTypeMetadata, UnsupportedChange]


@pytest.mark.parametrize(
    ("old", "new", "tier"),
    [
        ("node A { x: I32 } edge E: A -> A", "node A { x: I64 } edge E: A -> A", Tier.DESTRUCTIVE),
        ("node A { } node B { } edge E: A -> A", "node A { } node B { } edge E: A -> B", Tier.DESTRUCTIVE),
        ("node A { x: I32? }", "node A { x: I32 }", Tier.VALIDATED),
    ],
)
def test_a_refused_change_says_whether_data_would_have_to_go(old, new, tier):
    assert [step.tier for step in plan(old, new).steps] == [tier]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("node Job { slug: String }", "node Job { slug: String @unique }"),
        ("node Job { slug: String }", "node Job { slug: String @key }"),
        ("node Job { }", "node Job { slug: String }"),
        ("node Job { slug: String? }", "node Job { slug: String }"),
        ("node Job { slug: String }", "node Job { slug: I32 }"),
        ("node Job { slug: String @index }", "node Job { slug: String }"),
        ("node Job { slug: String }", "node Job { slug: String @level(1) }"),
    ],
)
def test_a_reason_names_the_type_and_the_property(old, new):
    (step,) = plan(old, new).steps

    assert "Job" in step.reason
    assert "slug" in step.reason


def test_a_narrower_unique_is_refused_even_if_the_wider_one_went_with_a_dropped_property():
    assert refused("node A { x: I32  z: I32  @unique(x, z) }", "node A { z: I32 @unique }") == [
        ("node:A.z", "OG-MF-101")
    ]
