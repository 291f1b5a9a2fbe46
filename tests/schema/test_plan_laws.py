"""Laws of every migration, checked on generated schemas and on generated evolutions of one schema."""

import copy

from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.catalog.canonical import canonical_json
from omnigraph.catalog.compile import compile_schema, compile_shape
from omnigraph.catalog.ir import ir_document, schema_hash
from omnigraph.catalog.migration import UnsupportedChange, plan_migration, resolve, step_document
from omnigraph.errors import UnsupportedSchemaChange
from support.schema_evolutions import histories, owners, text_of

law = settings(deadline=None)  # parsing takes what it takes on a busy machine

DOMAIN = "01JQ0000000000000000000000"


def compiled(text):
    return compile_schema(text, source="generated.pg", identity_domain=DOMAIN)


def planned(accepted, text):
    resolution = resolve(accepted, compile_shape(text, source="generated.pg"))
    return plan_migration(accepted, resolution, allow_data_loss=False)


# --- carrying out a plan on the stored document, from nothing but its JSON


def carried_out(accepted, plan):
    goal = ir_document(plan.catalog)
    document = copy.deepcopy(ir_document(accepted))
    for step in map(step_document, plan.steps):
        _CARRY_OUT[step["kind"]](document, goal, step)
    document["next_identity_id"] = goal["next_identity_id"]
    return _unordered(document), _unordered(goal)


def _unordered(value):
    if isinstance(value, dict):
        return {name: _unordered(member) for name, member in value.items()}
    return sorted(map(_unordered, value), key=canonical_json) if isinstance(value, list) else value


def _type(document, step, *, name=None):
    wanted = name or step.get("type_name") or step["name"]
    return next(found for found in document[f"{step['type_kind']}s"] if found["name"] == wanted)


def _property(document, step, *, name=None):
    wanted = name or step["property_name"]
    return next(found for found in _type(document, step)["properties"] if found["name"] == wanted)


def _add_type(document, goal, step):
    document[f"{step['type_kind']}s"].append(_type(goal, step))


def _rename_type(document, goal, step):
    renamed = _type(document, step, name=step["from"])
    renamed["name"] = step["to"]
    for edge in document["edges"]:
        for end in (edge["from_type"], edge["to_type"]):
            if step["type_kind"] == "node" and end["type_id"] == renamed["type_id"]:
                end["name"] = step["to"]


def _drop_type(document, goal, step):
    document[f"{step['type_kind']}s"].remove(_type(document, step))


def _add_property(document, goal, step):
    added = _property(goal, step)
    assert (added["type"], added["default"]) == (step["property_type"], step["default"])
    _type(document, step)["properties"].append(added)


def _rename_property(document, goal, step):
    renamed = _property(document, step, name=step["from"])
    renamed["name"] = step["to"]
    for promise in renamed.get("satisfies", []):
        promise["name"] = step["to"]
    for rule in _type(document, step).get("constraints", []):
        for field in rule["fields"]:
            if field.get("property_id") == renamed["property_id"]:
                field["name"] = step["to"]


def _drop_property(document, goal, step):
    dropped = _property(document, step)
    owner = _type(document, step)
    owner["properties"].remove(dropped)
    if "constraints" in owner:
        owner["constraints"] = [
            rule
            for rule in owner["constraints"]
            if dropped["property_id"] not in [field.get("property_id") for field in rule["fields"]]
        ]


def _extend_enum(document, goal, step):
    _property(document, step)["type"]["enum_values"] += step["added_values"]


def _add_constraint(document, goal, step):
    owner = _type(document, step)
    ids = {found["name"]: found["property_id"] for found in owner["properties"]}
    fields = [
        {"property_id": ids[name], "name": name} if name in ids else {"system": name}
        for name in step["constraint"]["properties"]
    ]
    owner["constraints"].append({"kind": step["constraint"]["kind"], "fields": fields})


def _update_type_metadata(document, goal, step):
    _type(document, step)["annotations"] = step["annotations"]


def _update_property_metadata(document, goal, step):
    updated = _property(document, step)
    updated |= {"annotations": step["annotations"], "default": step["default"]}
    if step["type_kind"] == "interface":
        updated["property_constraints"] = _property(goal, step)["property_constraints"]


_CARRY_OUT = {
    "add_type": _add_type,
    "rename_type": _rename_type,
    "drop_type": _drop_type,
    "add_property": _add_property,
    "rename_property": _rename_property,
    "drop_property": _drop_property,
    "extend_enum": _extend_enum,
    "add_constraint": _add_constraint,
    "update_type_metadata": _update_type_metadata,
    "update_property_metadata": _update_property_metadata,
}


# --- identities


def identities(catalog):
    """Map every identity to what carries it; a property carries its owner's identity too."""
    found = {}
    for owner in (*catalog.interfaces, *catalog.entity_types()):
        found[owner.type_id] = type(owner)
        found |= {declared.property_id: owner.type_id for declared in owner.properties}
    for entity in catalog.entity_types():
        found[entity.table_incarnation_id] = ("table", entity.type_id)
    return found


# --- laws


@law
@given(owners())
def test_a_schema_needs_no_migration_to_itself(schema):
    accepted = compiled(text_of(schema))

    plan = planned(accepted, text_of(schema))

    assert plan.steps == ()
    assert plan.catalog == accepted


@law
@given(owners(), owners(hints=True))
def test_every_difference_of_two_schemas_is_classified_and_leads_to_the_desired_one(old, new):
    accepted = compiled(text_of(old))
    try:
        plan = planned(accepted, text_of(new))
    except UnsupportedSchemaChange:
        return  # a hint of the generated schema leads nowhere

    unsupported = [step for step in plan.steps if isinstance(step, UnsupportedChange)]
    assert plan.supported == (not unsupported)
    assert all(step.code != "OG-BC-199" for step in unsupported)
    assert schema_hash(plan.catalog) == schema_hash(compiled(text_of(new)))
    assert bool(plan.steps) == (schema_hash(accepted) != schema_hash(plan.catalog))
    if plan.supported:
        done, goal = carried_out(accepted, plan)
        assert done == goal


@law
@given(histories(), st.randoms(use_true_random=False))
def test_the_order_of_declarations_does_not_change_a_plan(history, random):
    old, new, _ = history
    accepted = compiled(text_of(old))

    shuffled = random.sample(new, len(new))

    assert planned(accepted, text_of(shuffled)) == planned(accepted, text_of(new))


@law
@given(histories())
def test_supported_steps_carried_out_give_exactly_the_desired_schema(history):
    catalog = compiled(text_of(history[0]))
    for schema in history[1:]:
        plan = planned(catalog, text_of(schema))

        assert plan.supported, [step for step in plan.steps if isinstance(step, UnsupportedChange)]
        done, goal = carried_out(catalog, plan)
        assert done == goal
        catalog = plan.catalog


@law
@given(histories())
def test_an_identity_is_never_given_to_something_else(history):
    catalog = compiled(text_of(history[0]))
    ever = identities(catalog)
    for schema in history[1:]:
        later = planned(catalog, text_of(schema)).catalog

        found = identities(later)
        for identity in found.keys() & set(range(1, catalog.next_identity_id)):
            assert identities(catalog)[identity] == found[identity] == ever[identity]
        assert max(found, default=0) < later.next_identity_id
        assert later.next_identity_id >= catalog.next_identity_id
        ever |= found
        catalog = later


@law
@given(histories())
def test_renamed_things_keep_their_identity_and_nothing_else_does(history):
    old, new, _ = history
    accepted = compiled(text_of(old))

    catalog = planned(accepted, text_of(new)).catalog

    before = {owner.name: owner for owner in (*accepted.interfaces, *accepted.entity_types())}
    after = {owner.name: owner for owner in (*catalog.interfaces, *catalog.entity_types())}
    for written in new:
        found = after[written.name]
        continued = before.get(written.origin)
        assert (found.type_id < accepted.next_identity_id) == (continued is not None)
        ids = {declared.name: declared.property_id for declared in found.properties}
        if continued is None:
            assert all(identity >= accepted.next_identity_id for identity in ids.values())
            continue
        assert found.type_id == continued.type_id
        old_ids = {declared.name: declared.property_id for declared in continued.properties}
        for declared in written.props:
            assert ids[declared.name] == old_ids.get(declared.origin, ids[declared.name])
            assert (ids[declared.name] >= accepted.next_identity_id) == (declared.origin is None)
