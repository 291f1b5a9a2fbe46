"""Which steps lead from one schema to another, and which differences are refused."""

from dataclasses import fields, replace

import pytest

from omnigraph.catalog.compile import compile_schema, compile_shape
from omnigraph.catalog.migration import (
    AddConstraint,
    AddProperty,
    AddType,
    DropProperty,
    DropType,
    ExtendEnum,
    RenameProperty,
    RenameType,
    Resolution,
    UnsupportedChange,
    UpdatePropertyMetadata,
    UpdateTypeMetadata,
    describe_step,
    plan_migration,
    resolve,
)
from omnigraph.catalog.model import (
    Annotation,
    Cardinality,
    EdgeType,
    EmbedSource,
    Index,
    InterfaceType,
    NodeType,
    Property,
    PropertyType,
    Range,
    Scalar,
)
from omnigraph.errors import UnsupportedSchemaChange

JOB = "node Job { slug: String @key  state: enum(done, new, run)  note: String? }"


def compiled(text):
    return compile_schema(text, source="jobs.pg", identity_domain="01JQ0000000000000000000000")


def plan(old, new, *, allow_data_loss=False):
    accepted = compiled(old)
    resolution = resolve(accepted, compile_shape(new, source="jobs.pg"))
    return plan_migration(accepted, resolution, allow_data_loss=allow_data_loss)


def steps(old, new):
    planned = plan(old, new)
    assert planned.supported
    return planned.steps


def lines(old, new):
    return [describe_step(step).partition(": ")[0] for step in plan(old, new).steps]


def changed_job(old, new):
    assert old in JOB
    return JOB.replace(old, new)


# --- examples of the specification


@pytest.mark.parametrize(
    ("desired", "expected"),
    [
        (changed_job("enum(done, new, run)", "enum(new, run, done)"), []),
        (
            changed_job("enum(done, new, run)", "enum(new, run, done, held)"),
            ["extend enum 'Job.state' (+held) on node 'Job'"],
        ),
        (
            changed_job("state: enum(done, new, run)", 'phase: enum(new, run, done, held) @rename_from("state")'),
            [
                "rename property 'Job.state' to 'Job.phase' on node 'Job'",
                "extend enum 'Job.phase' (+held) on node 'Job'",
            ],
        ),
        (
            changed_job("enum(done, new, run)", "enum(new, done)"),
            ["unsupported change on node:Job.state [OG-MF-106, destructive]"],
        ),
        (
            changed_job("enum(done, new, run)", "String"),
            ["unsupported change on node:Job.state [OG-MF-106, destructive]"],
        ),
        (changed_job("note", "cost: F64? note"), ["add property 'Job.cost' (F64?) on node 'Job'"]),
        (changed_job("note", "cost: F64 note"), ["unsupported change on node:Job.cost [OG-MF-103, validated]"]),
        (
            changed_job("note", "cost: F64 @default(0.0) note"),
            ["add property 'Job.cost' (F64) on node 'Job' with default 0.0"],
        ),
        (changed_job("String?", "String"), ["unsupported change on node:Job.note [OG-MF-104, validated]"]),
        (changed_job("String?", "String? @index"), ["add constraint @index(note) on node 'Job'"]),
        (changed_job("note: String?", ""), ["drop property 'Job.note' of node 'Job' (soft mode)"]),
        (changed_job("node Job", 'node Task @rename_from("Job")'), ["rename node 'Job' to 'Task'"]),
        (changed_job("node Job", "node Task"), ["add node 'Task'", "drop node 'Job' (soft mode)"]),
        (changed_job("String?", "String? @unique"), ["unsupported change on node:Job.note [OG-MF-101, validated]"]),
        (changed_job("@key", "@key(slug)"), []),
        (changed_job("}", '@check(note, "a") }'), ["unsupported change on node:Job.note [OG-MF-105, validated]"]),
        (changed_job("node Job", 'node Job @description("work")'), ["update metadata of node 'Job'"]),
    ],
)
def test_examples_of_changes_to_one_node(desired, expected):
    assert lines(JOB, desired) == expected


# --- supported steps


def test_nothing_to_do_gives_no_steps():
    planned = plan(JOB, JOB)

    assert planned.supported
    assert planned.steps == ()
    assert planned.catalog == compiled(JOB)


@pytest.mark.parametrize(
    ("added", "step"),
    [
        ("interface Named { name: String }", AddType(type_kind="interface", name="Named")),
        ("node Tool { name: String  @unique(name) }", AddType(type_kind="node", name="Tool")),
        ("edge Needs: Job -> Job { why: String  @index(why) }", AddType(type_kind="edge", name="Needs")),
    ],
)
def test_a_new_type_is_one_step_whatever_it_declares(added, step):
    assert steps(JOB, JOB + added) == (step,)


def test_a_renamed_edge_is_one_step():
    assert steps("node A { } edge Go: A -> A", 'node A { } edge Run: A -> A @rename_from("Go")') == (
        RenameType(type_kind="edge", from_name="Go", to_name="Run"),
    )


def test_edges_follow_a_renamed_node_without_a_step():
    assert steps(
        "node A { } node B { } edge Go: A -> B @card(0..1)",
        'node C @rename_from("A") { } node B { } edge Go: C -> B @card(0..1)',
    ) == (RenameType(type_kind="node", from_name="A", to_name="C"),)


@pytest.mark.parametrize("kind", ["interface", "node", "edge"])
@pytest.mark.parametrize(
    ("written", "declared", "default"),
    [
        ("I32?", PropertyType(scalar=Scalar.I32, nullable=True), None),
        ("I32 @default(7)", PropertyType(scalar=Scalar.I32), 7),
        ("[String]?", PropertyType(scalar=Scalar.STRING, is_list=True, nullable=True), None),
    ],
)
def test_a_property_that_existing_entities_can_do_without_is_added(kind, written, declared, default):
    header = {"interface": "interface T", "node": "node T", "edge": "node N { } edge T: N -> N"}[kind]

    assert steps(f"{header} {{ }}", f"{header} {{ x: {written} }}") == (
        AddProperty(type_kind=kind, type_name="T", property_name="x", property_type=declared, default=default),
    )


def test_a_required_vector_with_embed_may_be_added_because_it_may_be_pending():
    assert steps("node A { t: String }", "node A { t: String  v: Vector(2) @embed(t) }") == (
        AddProperty(
            type_kind="node",
            type_name="A",
            property_name="v",
            property_type=PropertyType(scalar=Scalar.VECTOR, dimension=2),
            default=None,
        ),
    )


def test_a_renamed_property_takes_its_constraints_and_its_embed_along():
    accepted = """node A { a: String @key  b: String  c: I32  v: Vector(2) @embed(b)
        @unique(a, c) @index(b) @index(c, v) @range(c, 0..9) @check(b, "^x") }"""
    desired = """node A { z: String @key @rename_from("a")  y: String @rename_from("b")  x: I32 @rename_from("c")
        v: Vector(2) @embed(y)  @unique(z, x) @index(y) @index(x, v) @range(x, 0..9) @check(y, "^x") }"""

    assert steps(accepted, desired) == tuple(
        RenameProperty(type_kind="node", type_name="A", from_name=old, to_name=new)
        for old, new in [("c", "x"), ("b", "y"), ("a", "z")]
    )


def test_enum_values_are_added_on_every_kind_of_type():
    accepted = "interface I { x: enum(a)? } node N implements I { } edge E: N -> N { x: enum(a)? }"

    assert steps(accepted, accepted.replace("enum(a)", "enum(c, a, b)")) == tuple(
        ExtendEnum(type_kind=kind, type_name=name, property_name="x", added_values=("b", "c"))
        for kind, name in [("interface", "I"), ("node", "N"), ("edge", "E")]
    )


def test_an_index_is_added_once_to_properties_and_endpoints():
    accepted = "node N { } edge E: N -> N { w: I32? }"

    assert steps(accepted, "node N { } edge E: N -> N { w: I32? @index  @index(w)  @index(dst, w) }") == (
        AddConstraint(type_kind="edge", type_name="E", constraint=Index(properties=("dst", "w"))),
        AddConstraint(type_kind="edge", type_name="E", constraint=Index(properties=("w",))),
    )


def test_a_new_property_may_come_with_an_index():
    assert [type(step) for step in steps("node A { }", "node A { x: I32? @index }")] == [AddProperty, AddConstraint]


@pytest.mark.parametrize("annotation", ["description", "instruction"])
@pytest.mark.parametrize(
    ("before", "after", "annotations"),
    [
        ("", '@{name}("x")', [("{name}", "x")]),
        ('@{name}("x")', "", []),
        ('@{name}("x")', '@{name}("y")', [("{name}", "y")]),
    ],
)
def test_metadata_of_a_type_is_updated(annotation, before, after, annotations):
    old, new = before.format(name=annotation), after.format(name=annotation)

    kept = [Annotation(name=name.format(name=annotation), value=value) for name, value in annotations]
    assert steps(f"node A {old} @mark {{ }}", f"node A {new} @mark {{ }}") == (
        UpdateTypeMetadata(type_kind="node", name="A", annotations=(*kept, Annotation(name="mark"))),
    )


@pytest.mark.parametrize(
    ("before", "after", "annotations", "default"),
    [
        ("", '@description("d")', (Annotation(name="description", value="d"),), None),
        ('@description("d")', "", (), None),
        ("", "@default(1)", (), 1),
        ("@default(1)", "@default(2)", (), 2),
        ("@default(1)", "", (), None),
    ],
)
def test_metadata_of_a_property_is_updated(before, after, annotations, default):
    assert steps(f"node A {{ x: I32? {before} }}", f"node A {{ x: I32? {after} }}") == (
        UpdatePropertyMetadata(
            type_kind="node", type_name="A", property_name="x", annotations=annotations, default=default
        ),
    )


def test_the_sign_of_a_zero_default_is_a_difference():
    planned = steps("node A { x: F64 @default(0.0) }", "node A { x: F64 @default(-0.0) }")

    assert [type(step) for step in planned] == [UpdatePropertyMetadata]


def test_an_index_on_an_interface_property_is_metadata_there_and_a_constraint_on_its_nodes():
    assert steps(
        "interface I { x: I32? } node A implements I { }", "interface I { x: I32? @index } node A implements I { }"
    ) == (
        UpdatePropertyMetadata(type_kind="interface", type_name="I", property_name="x", annotations=(), default=None),
        AddConstraint(type_kind="node", type_name="A", constraint=Index(properties=("x",))),
    )


@pytest.mark.parametrize("constraint", ["key", "unique"])
def test_a_stricter_interface_property_is_metadata_there_and_refused_on_its_nodes(constraint):
    planned = plan(
        "interface I { x: I32 } node A implements I { }",
        f"interface I {{ x: I32 @{constraint} }} node A implements I {{ }}",
    )

    assert [type(step) for step in planned.steps] == [UpdatePropertyMetadata, UnsupportedChange]


def test_an_interface_property_reaches_the_nodes_that_inherit_it():
    assert lines(
        "interface I { x: I32? } node A implements I { } node B { }",
        "interface I { x: I32?  y: I32? } node A implements I { } node B { }",
    ) == ["add property 'I.y' (I32?) on interface 'I'", "add property 'A.y' (I32?) on node 'A'"]


def test_a_renamed_interface_property_is_renamed_on_the_nodes_that_inherit_it():
    assert steps(
        "interface I { x: I32? @index } node A implements I { }",
        'interface I { y: I32? @index @rename_from("x") } node A implements I { }',
    ) == tuple(
        RenameProperty(type_kind=kind, type_name=name, from_name="x", to_name="y")
        for kind, name in [("interface", "I"), ("node", "A")]
    )


def test_several_supported_changes_of_one_property_are_one_step_each():
    assert lines("node A { x: enum(a, b)? }", 'node A { y: enum(a, b, c)? @index @default(c) @rename_from("x") }') == [
        "rename property 'A.x' to 'A.y' on node 'A'",
        "extend enum 'A.y' (+c) on node 'A'",
        "update metadata of property 'A.y' on node 'A'",
        "add constraint @index(y) on node 'A'",
    ]


# --- drops


@pytest.mark.parametrize(("allow_data_loss", "mode"), [(False, "soft"), (True, "hard")])
def test_all_drops_of_a_plan_share_the_mode_and_carry_their_codes(allow_data_loss, mode):
    planned = plan(
        """interface I { i: I32?  w: Vector(2)? } node A { x: I32  v: Vector(2)? } node B { }
        edge E: A -> A { p: I32? } edge F: A -> A""",
        "interface I { } node A { } edge E: A -> A { }",
        allow_data_loss=allow_data_loss,
    )

    def dropped(kind, type_name, name, code):
        return DropProperty(type_kind=kind, type_name=type_name, property_name=name, mode=mode, code=code)

    assert planned.supported
    assert planned.steps == (
        dropped("interface", "I", "i", "OG-DS-104"),
        dropped("interface", "I", "w", "OG-DS-105"),
        dropped("node", "A", "v", "OG-DS-105"),
        dropped("node", "A", "x", "OG-DS-104"),
        DropType(type_kind="node", name="B", mode=mode, code="OG-DS-102"),
        dropped("edge", "E", "p", "OG-DS-104"),
        DropType(type_kind="edge", name="F", mode=mode, code="OG-DS-103"),
    )


def test_constraints_go_with_a_dropped_property():
    accepted = (
        'node A { x: I32  y: String  z: I32  @index(x, z) @unique(x, y) @range(x, 0..) @check(y, "a") @index(z) }'
    )

    assert [type(step) for step in steps(accepted, "node A { z: I32  @index(z) }")] == [DropProperty, DropProperty]


def test_a_narrower_index_may_replace_one_that_went_with_a_dropped_property():
    assert [type(step) for step in steps("node A { x: I32  z: I32  @index(x, z) }", "node A { z: I32 @index }")] == [
        DropProperty,
        AddConstraint,
    ]


def test_a_dropped_property_of_a_renamed_type_is_named_by_the_new_type():
    assert lines("node A { x: I32? }", 'node B @rename_from("A") { }') == [
        "rename node 'A' to 'B'",
        "drop property 'B.x' of node 'B' (soft mode)",
    ]


# --- order


def test_steps_come_in_a_fixed_order():
    accepted = """
    interface Old { } interface Base { b: I32? }
    node Zebra implements Base { z: I32?  a: I32?  gone: I32?  gone2: I32? }
    node Ape { } node Dodo { }
    edge Eats: Zebra -> Ape { w: I32? } edge Bites: Ape -> Ape edge Auk: Dodo -> Dodo
    """
    desired = """
    interface Fresh { } interface Base { b: I32?  c: I32? }
    node Mule @rename_from("Zebra") @description("m") implements Fresh {
        q: I32? @rename_from("a") @default(1)  z: I32? @index  n: I32?
    }
    node Ape { } node Cat { }
    edge Eats: Mule -> Ape @card(0..1) @description("e") { w: I32? @index } edge Adds: Cat -> Cat
    """

    assert lines(accepted, desired) == [
        "add property 'Base.c' (I32?) on interface 'Base'",
        "add interface 'Fresh'",
        "unsupported change on interface:Old [OG-BC-102, validated]",
        "add node 'Cat'",
        "rename node 'Zebra' to 'Mule'",
        "unsupported change on node:Mule [OG-BC-103, validated]",
        "update metadata of node 'Mule'",
        "add property 'Mule.n' (I32?) on node 'Mule'",
        "rename property 'Mule.a' to 'Mule.q' on node 'Mule'",
        "update metadata of property 'Mule.q' on node 'Mule'",
        "drop property 'Mule.b' of node 'Mule' (soft mode)",
        "drop property 'Mule.gone' of node 'Mule' (soft mode)",
        "drop property 'Mule.gone2' of node 'Mule' (soft mode)",
        "add constraint @index(z) on node 'Mule'",
        "drop node 'Dodo' (soft mode)",
        "add edge 'Adds'",
        "unsupported change on edge:Eats [OG-ED-102, validated]",
        "update metadata of edge 'Eats'",
        "add constraint @index(w) on edge 'Eats'",
        "drop edge 'Auk' (soft mode)",
        "drop edge 'Bites' (soft mode)",
    ]


# --- the plan as a whole


def test_an_unsupported_plan_is_refused_with_its_first_code_and_reason():
    planned = plan(JOB, changed_job("note: String?", "cost: F64 note: String"))

    with pytest.raises(UnsupportedSchemaChange, match=r"^\[OG-MF-103\] Job\.cost ") as caught:
        planned.require_supported()

    assert caught.value.details == {"rule": "OG-MF-103", "entity": "node:Job.cost"}
    assert caught.value.kind == "unsupported_schema_change"


def test_a_supported_plan_is_not_refused():
    plan(JOB, changed_job("note: String?", "")).require_supported()


def test_a_plan_passes_on_the_unused_hints():
    planned = plan(JOB, changed_job("note: String?", 'note: String? @rename_from("remark")'))

    assert planned.steps == ()
    assert [found.entity for found in planned.diagnostics] == ["node:Job.note"]


def test_a_difference_that_no_step_describes_is_refused():
    accepted = compiled(JOB)
    odd = Resolution(catalog=replace(accepted, identity_domain="01JQ0000000000000000000001"), diagnostics=())

    planned = plan_migration(accepted, odd, allow_data_loss=False)

    assert [(step.entity, step.code) for step in planned.steps] == [("schema", "OG-BC-199")]


EVERY_DIFFERENCE = {
    Property: {
        "name": "other",
        "property_id": 9000,
        "type": PropertyType(scalar=Scalar.I64),
        "annotations": (Annotation(name="level", value=1),),
        "default": 5,
        "embed": EmbedSource(source="x"),
        "declared_directly": False,
        "satisfies": (1,),
        "property_constraints": ("index",),
    },
    InterfaceType: {"name": None, "type_id": 9000, "properties": ()},
    NodeType: {
        "name": "Other",
        "type_id": 9000,
        "table_incarnation_id": None,
        "properties": (),
        "constraints": (Range(property="x", low=0, high=None),),
        "annotations": (Annotation(name="level", value=1),),
        "implements": ("I",),
    },
    EdgeType: {
        "name": "Other",
        "type_id": 9000,
        "table_incarnation_id": None,
        "properties": (),
        "constraints": (Index(properties=("src",)),),
        "annotations": (Annotation(name="level", value=1),),
        "from_type": "B",
        "to_type": "B",
        "cardinality": Cardinality(low=1),
    },
}
# No desired schema differs from the accepted one in these alone: interfaces are not renamed, and an incarnation
# belongs to its type.
NEVER_DIFFERENT_ALONE = {
    (InterfaceType, "name"),
    (NodeType, "table_incarnation_id"),
    (EdgeType, "table_incarnation_id"),
}


def test_every_member_of_the_compiled_schema_is_listed_as_a_difference():
    for owner, differences in EVERY_DIFFERENCE.items():
        assert set(differences) == {field.name for field in fields(owner)}


@pytest.mark.parametrize(
    ("owner", "member"),
    [
        (owner, member)
        for owner, differences in EVERY_DIFFERENCE.items()
        for member in differences
        if (owner, member) not in NEVER_DIFFERENT_ALONE
    ],
)
def test_no_difference_between_compiled_schemas_goes_unseen(owner, member):
    accepted = compiled("interface I { i: I32? } node A { x: I32? } node B { } edge E: A -> A { w: I32? }")
    difference = {member: EVERY_DIFFERENCE[owner][member]}
    node, edge, interface = accepted.nodes[0], accepted.edges[0], accepted.interfaces[0]
    if owner is Property:
        desired = replace(
            accepted, nodes=(replace(node, properties=(replace(node.properties[0], **difference),)), accepted.nodes[1])
        )
    elif owner is NodeType:
        # Its edge follows a rename.
        name = difference.get("name", "A")
        desired = replace(
            accepted,
            nodes=(replace(node, **difference), accepted.nodes[1]),
            edges=(replace(edge, from_type=name, to_type=name),),
        )
    elif owner is EdgeType:
        desired = replace(accepted, edges=(replace(edge, **difference),))
    else:
        desired = replace(accepted, interfaces=(replace(interface, **difference),))

    planned = plan_migration(accepted, Resolution(catalog=desired, diagnostics=()), allow_data_loss=False)

    assert planned.steps
    assert all(step.code != "OG-BC-199" for step in planned.steps if isinstance(step, UnsupportedChange))
