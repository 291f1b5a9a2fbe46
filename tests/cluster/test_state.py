"""The ledger as a value: what is read, what is refused, and that nothing is lost on the way back."""

import json

import pytest

from omnigraph.cluster.diagnostics import Refused
from omnigraph.cluster.resources import graph_digest
from omnigraph.cluster.state import StatusWord, parse_ledger

DIGEST = "ab" * 32
COMPOSITE = graph_digest("art", schema=DIGEST, queries={"by_artist": DIGEST}, provider=("provider.embedding.p", DIGEST))
LEDGER = {
    "version": 1,
    "state_revision": 4,
    "applied_revision": {
        "config_digest": DIGEST,
        "resources": {
            "graph.art": {"digest": COMPOSITE, "embedding_provider": "provider.embedding.p"},
            "schema.art": {"digest": DIGEST},
            "query.art.by_artist": {"digest": DIGEST},
            "policy.keepers": {"digest": DIGEST, "applies_to": ["graph.art"]},
            "provider.embedding.p": {"digest": DIGEST, "embedding_profile": {"kind": "mock"}},
        },
    },
    "resource_statuses": {"graph.art": {"status": "drifted", "conditions": ["schema_mismatch"], "message": "why"}},
    "approval_records": {"01A": {"consumed_at": "2026-01-01T00:00:00Z", "consumed_by_operation": "01B"}},
    "recovery_records": {
        "01C": {"kind": "graph_create", "graph_id": "art", "outcome": "o", "recovered_at": "t", "actor": None}
    },
    "observations": {"graph.art": {"kind": "graph", "manifest_version": 3}},
}


def spelled(**changes: object) -> bytes:
    return json.dumps({**LEDGER, **changes}).encode()


def test_a_ledger_reads_back_as_it_was_written():
    ledger = parse_ledger(spelled())

    assert parse_ledger(ledger.to_bytes()) == ledger
    assert ledger.to_bytes().endswith(b"}\n")
    assert ledger.graph_ids == ("art",)
    assert ledger.policies_of("graph.art") == ("policy.keepers",)
    assert ledger.resource_statuses["graph.art"].status is StatusWord.DRIFTED
    ledger.refuse_wrong_composites()


def test_a_version_observed_under_one_name_has_both():
    seen = parse_ledger(spelled()).observations["graph.art"]

    assert seen["manifest_version"] == seen["graph_manifest_version"] == 3


def test_everything_but_the_version_and_the_revision_may_be_absent():
    ledger = parse_ledger(b'{"version": 1, "applied_revision": {}}')

    assert (ledger.state_revision, ledger.resources) == (0, {})


def test_a_lenient_reader_leaves_out_what_it_does_not_know():
    strange = spelled(weather="fine")

    assert parse_ledger(strange, is_strict=False) == parse_ledger(spelled())
    with pytest.raises(Refused, match="weather"):
        parse_ledger(strange)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"{", "invalid_state_json"),
        (b"[]", "invalid_state_json"),
        (b'{"version": 1}', "invalid_state_json"),
        (b'{"version": 2, "applied_revision": {}}', "unsupported_state_version"),
        (spelled(state_revision=-1), "invalid_state_json"),
        (spelled(resource_statuses={"graph.art": {"status": "great"}}), "invalid_state_json"),
        (spelled(applied_revision={"resources": {"graph.art": {"digest": 1}}}), "invalid_state_json"),
        (
            spelled(observations={"graph.art": {"manifest_version": 1, "graph_manifest_version": 2}}),
            "conflicting_graph_manifest_observation",
        ),
        (
            spelled(observations={"graph.art": {"manifest_version": [], "graph_manifest_version": 2}}),
            "conflicting_graph_manifest_observation",
        ),
    ],
)
def test_what_is_no_ledger_is_refused(content, code):
    with pytest.raises(Refused) as refused:
        parse_ledger(content)

    assert refused.value.diagnostic.code == code


def test_an_edited_part_is_found_by_the_composite_of_its_graph():
    resources = {**LEDGER["applied_revision"]["resources"], "schema.art": {"digest": "cd" * 32}}

    with pytest.raises(Refused) as refused:
        parse_ledger(spelled(applied_revision={"resources": resources})).refuse_wrong_composites()

    assert refused.value.diagnostic.code == "external_blob_policy_digest_mismatch"
