"""A sidecar says everything that recovery needs, and reads back as what was written."""

import json
from dataclasses import replace

import pytest

from omnigraph.catalog.model import TableIdentity, TableKey
from omnigraph.manifest.publish import TableRegistration
from omnigraph.writes.manifest_delta import ManifestDelta
from omnigraph.writes.sidecar import EffectKind, Purge, Sidecar, SidecarKind
from omnigraph.writes.sidecar_format import parse_sidecar, sidecar_bytes
from support import evidence


def registration(number: int) -> TableRegistration:
    return TableRegistration(
        table_key=TableKey(f"node:T{number}"),
        identity=TableIdentity(type_id=number, incarnation_id=number + 10),
        location=f"nodes/{number}",
    )


SCHEMA_APPLY = replace(
    evidence.sidecar_facts(evidence.created(1), evidence.effect_facts("", 2)).sidecar,
    kind=SidecarKind.SCHEMA_APPLY,
    manifest=ManifestDelta(
        register=(registration(1),), rename=(registration(2),), tombstone=(registration(3),), schema=evidence.SCHEMA
    ),
    purges=(
        Purge(table_key=TableKey("node:T2"), location="nodes/2", property_ids=(4, 5)),
        Purge(table_key=TableKey("node:T3"), location="nodes/3", property_ids=None),
    ),
)
LOAD = evidence.sidecar_facts(evidence.effect_facts("", 1), evidence.effect_facts("", 2, is_fork=True)).sidecar


@pytest.mark.parametrize("sidecar", [LOAD, SCHEMA_APPLY], ids=["load", "schema_apply"])
def test_a_sidecar_reads_back_as_it_was_written(sidecar: Sidecar) -> None:
    assert parse_sidecar(sidecar.operation_id, sidecar_bytes(sidecar)) == sidecar


def test_a_sidecar_from_before_there_were_schema_changes_is_understood() -> None:
    document = json.loads(sidecar_bytes(LOAD))
    del document["purge"]

    assert parse_sidecar(LOAD.operation_id, json.dumps(document).encode()) == LOAD


def test_a_new_table_is_registered_and_its_pin_is_no_update() -> None:
    manifest = json.loads(sidecar_bytes(SCHEMA_APPLY))["manifest"]

    assert [table["table_key"] for table in manifest["register"]] == ["node:T1"]
    assert [table["table_key"] for table in manifest["update"]] == ["node:T2"]
    assert manifest["schema"]["ir_hash"] == evidence.SCHEMA.ir_hash


def test_an_unknown_kind_of_effect_is_not_guessed_at() -> None:
    from omnigraph.writes.sidecar_format import UnreadableSidecar

    content = sidecar_bytes(SCHEMA_APPLY).replace(f'"{EffectKind.CREATE}"'.encode(), b'"transmute"')

    with pytest.raises(UnreadableSidecar, match="transmute"):
        parse_sidecar(SCHEMA_APPLY.operation_id, content)


def test_what_nobody_could_read_back_is_not_armed() -> None:
    from omnigraph.errors import ResourceLimit

    with pytest.raises(ResourceLimit, match="nothing was written"):
        sidecar_bytes(replace(LOAD, commit_metadata={"message": "x" * (5 << 20)}))
    with pytest.raises(UnicodeEncodeError):
        sidecar_bytes(replace(LOAD, actor_id="\ud800"))
