"""A sidecar as bytes, and bytes as a sidecar: what others wrote is checked before anything is believed of it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, Final

from omnigraph.base.plain_text import plain_text
from omnigraph.catalog.model import TableIdentity, TableKey
from omnigraph.errors import ResourceLimit
from omnigraph.manifest.commits import CommitKind, readable_actor
from omnigraph.manifest.snapshot import TablePin
from omnigraph.writes.manifest_delta import ManifestDelta
from omnigraph.writes.sidecar import (
    EffectKind,
    Fork,
    PlannedCommit,
    Purge,
    RollbackRecord,
    Sidecar,
    SidecarEffect,
    SidecarKind,
)

SIDECAR_SCHEMA_VERSION: Final = 1
_SIDECAR_BYTES_MAX = 4 << 20
_NUMBER_MAX = 1 << 60
_KNOWN = frozenset(
    {
        "schema_version",
        "operation_id",
        "kind",
        "started_at_us",
        "writer",
        "actor_id",
        "branch",
        "authority",
        "commit",
        "rollback_commit_id",
        "effects",
        "manifest",
        "purge",
        "rollback",
    }
)


class UnreadableSidecar(Exception):
    """A sidecar that cannot be understood; it is never deleted and never guessed at."""


def sidecar_bytes(sidecar: Sidecar) -> bytes:
    """Spell a sidecar."""
    document: dict[str, Any] = {
        **sidecar.unknown_fields,
        "schema_version": SIDECAR_SCHEMA_VERSION,
        "operation_id": sidecar.operation_id,
        "kind": sidecar.kind.value,
        "started_at_us": sidecar.started_at_us,
        "writer": dict(sidecar.writer),
        "actor_id": sidecar.actor_id,
        "branch": {"name": sidecar.branch_name, "incarnation": sidecar.branch_incarnation},
        "authority": {"head": sidecar.head, "graph_version": sidecar.graph_version, "ir_hash": sidecar.ir_hash},
        "commit": {
            "graph_commit_id": sidecar.commit_id,
            "parent_commit_id": sidecar.head,
            "merged_parent_commit_id": sidecar.merged_parent_commit_id,
            "kind": sidecar.commit_kind.value,
            "created_at_us": sidecar.commit_created_at_us,
            "metadata": dict(sidecar.commit_metadata),
        },
        "rollback_commit_id": sidecar.rollback_commit_id,
        "effects": [_effect_document(effect) for effect in sidecar.effects],
        "manifest": {
            **sidecar.manifest.document(),
            "update": [
                *(
                    {
                        "table_key": effect.table_key,
                        **effect.identity.document(),
                        "ref": effect.ref,
                    }
                    for effect in sidecar.effects
                    if effect.effect is not EffectKind.CREATE
                ),
                *(_pointer_document(pin) for pin in sidecar.pointers),
            ],
        },
        "purge": [purge.document() for purge in sidecar.purges],
        "rollback": asdict(sidecar.rollback) if sidecar.rollback else None,
    }
    content = (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()
    if len(content) > _SIDECAR_BYTES_MAX:
        raise ResourceLimit(
            f"The record that {sidecar.kind.value} has to keep for recovery is larger than {_SIDECAR_BYTES_MAX} bytes; "
            "nothing was written.",
            resource="recovery_record_bytes",
            limit=_SIDECAR_BYTES_MAX,
            actual=len(content),
        )
    return content


def parse_sidecar(operation_id: str, content: bytes) -> Sidecar:
    """Read a sidecar back, or raise `UnreadableSidecar` saying why it cannot be understood."""
    if len(content) > _SIDECAR_BYTES_MAX:
        raise UnreadableSidecar(f"it is larger than {_SIDECAR_BYTES_MAX} bytes")
    try:
        document = json.loads(content)
        _check_format(document["schema_version"])
        sidecar = _from_document(document)
        _check_values(sidecar)
        targets = {(effect.identity, effect.ref) for effect in sidecar.effects}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise UnreadableSidecar(f"it is not a sidecar: {type(error).__name__}: {error}") from error
    if sidecar.operation_id != operation_id:
        raise UnreadableSidecar(f"it claims to be operation {sidecar.operation_id}")
    if len(targets) != len(sidecar.effects):
        raise UnreadableSidecar("it names one table twice")
    return sidecar


def _check_values(sidecar: Sidecar) -> None:
    """Refuse values of other kinds than the program writes.

    They would surface in the middle of a recovery, or worse, behind its publish: a commit that nobody can log.
    """
    commits = (sidecar.head, sidecar.commit_id, sidecar.rollback_commit_id)
    texts = [sidecar.operation_id, sidecar.branch_name, sidecar.branch_incarnation, sidecar.ir_hash, *commits]
    numbers = [sidecar.started_at_us, sidecar.graph_version, sidecar.commit_created_at_us]
    optional: list[object] = [sidecar.actor_id, sidecar.merged_parent_commit_id]
    for effect in sidecar.effects:
        texts += [effect.table_key, effect.location, effect.compensation_uuid]
        texts += [text for planned in effect.planned for text in (planned.uuid, planned.operation)]
        numbers += [effect.expected_version, *(planned.read_version for planned in effect.planned)]
        optional += [effect.ref, effect.fork.from_ref if effect.fork is not None else None]
    for text in (*texts, *(given for given in optional if given is not None)):
        plain_text(text, what="its", refusal=ValueError)
    for number in numbers:
        if type(number) is not int or abs(number) > _NUMBER_MAX:
            raise TypeError(f"{number!r} is no number that belongs there")
    if not isinstance(sidecar.writer, dict) or not isinstance(sidecar.commit_metadata, dict):
        raise TypeError("its writer or its metadata is no object")


def _check_format(version: object) -> None:
    if not isinstance(version, int) or version > SIDECAR_SCHEMA_VERSION:
        raise UnreadableSidecar(
            f"its format is version {version}, this omnigraph knows up to {SIDECAR_SCHEMA_VERSION} — "
            "upgrade omnigraph first"
        )


def _from_document(document: Mapping[str, Any]) -> Sidecar:
    rollback = document["rollback"]
    return Sidecar(
        operation_id=document["operation_id"],
        kind=SidecarKind(document["kind"]),
        started_at_us=document["started_at_us"],
        writer=document["writer"],
        actor_id=_readable(document["actor_id"]),
        branch_name=document["branch"]["name"],
        branch_incarnation=document["branch"]["incarnation"],
        head=document["authority"]["head"],
        graph_version=document["authority"]["graph_version"],
        ir_hash=document["authority"]["ir_hash"],
        commit_id=document["commit"]["graph_commit_id"],
        commit_kind=CommitKind(document["commit"]["kind"]),
        commit_created_at_us=document["commit"]["created_at_us"],
        commit_metadata=document["commit"]["metadata"],
        rollback_commit_id=document["rollback_commit_id"],
        effects=tuple(_effect(effect) for effect in document["effects"]),
        merged_parent_commit_id=document["commit"]["merged_parent_commit_id"],
        pointers=tuple(_pointer(update) for update in document["manifest"]["update"] if "version" in update),
        manifest=ManifestDelta.from_document(document["manifest"]),
        purges=tuple(Purge.from_document(purge) for purge in document.get("purge", ())),
        rollback=RollbackRecord(**rollback) if rollback is not None else None,
        unknown_fields={key: value for key, value in document.items() if key not in _KNOWN},
    )


def _readable(actor_id: str | None) -> str | None:
    return readable_actor(actor_id) if isinstance(actor_id, str) else actor_id


def _effect_document(effect: SidecarEffect) -> dict[str, Any]:
    stored = asdict(effect)
    del stored["identity"]
    return {"table_key": effect.table_key, **effect.identity.document(), **stored}


def _effect(document: Mapping[str, Any]) -> SidecarEffect:
    known = {column.name: document[column.name] for column in fields(SidecarEffect) if column.name in document}
    return SidecarEffect(
        **{
            **known,
            "identity": TableIdentity.from_document(document),
            "effect": EffectKind(document["effect"]),
            "planned": tuple(PlannedCommit(**planned) for planned in document["planned"]),
            "fork": Fork(**document["fork"]) if document["fork"] is not None else None,
        }
    )


def _pointer_document(pin: TablePin) -> Mapping[str, Any]:
    return {
        "table_key": pin.table_key,
        **pin.identity.document(),
        "location": pin.location,
        "ref": pin.ref,
        "version": pin.version,
        "row_count": pin.row_count,
    }


def _pointer(document: Mapping[str, Any]) -> TablePin:
    return TablePin(
        table_key=TableKey(document["table_key"]),
        identity=TableIdentity.from_document(document),
        location=document["location"],
        ref=document["ref"],
        version=document["version"],
        row_count=document["row_count"],
    )
