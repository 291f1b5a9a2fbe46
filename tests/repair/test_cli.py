"""`omnigraph repair`: a preview by default, a refusal that says what to do, and documents for programs."""

from pathlib import Path
from typing import Any

import lance
import pytest

from support import harbor

pytestmark = pytest.mark.usefixtures("workplace")

TABLE = "node:Sailor"


@pytest.fixture
def drifted(local_root: str) -> str:
    """A graph whose sailors were compacted and whose ships were changed behind its back."""
    graph = harbor.new_graph(local_root)
    graph.load(harbor.lines([harbor.sailor("Kim")]), mode="append")
    for pin in graph.snapshot().tables:
        dataset = lance.dataset(str(Path(local_root) / pin.location))
        if pin.type_name == "Sailor":
            dataset.optimize.compact_files()
        if pin.type_name == "Ship":
            dataset.delete("id = 'S2'")
    return local_root


def by_key(document: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {row["table_key"]: (row["classification"], row["action"]) for row in document["tables"]}


def test_a_preview_lists_what_drifted_and_how_to_go_on(run: Any, drifted: str) -> None:
    ran = run("repair", drifted, "--verbose")

    assert ran.code == 0
    assert "node:Sailor" in ran.out
    assert "node:Note" not in ran.out
    assert "--confirm" in ran.out
    assert f"omnigraph repair → {drifted} (direct, local)" in ran.err


def test_confirm_publishes_the_verified_and_refuses_the_rest(run: Any, drifted: str) -> None:
    ran = run("repair", drifted, "--confirm", "--json")

    assert ran.code == 1
    assert by_key(ran.document)["node:Sailor"] == ("verified_maintenance", "healed")
    assert by_key(ran.document)["node:Ship"] == ("suspicious", "refused")
    assert ran.document["manifest_version"] == 4
    for word in ("repair refused", "node:Ship", "--force --confirm"):
        assert word in ran.err


def test_force_and_confirm_publish_everything_and_a_second_run_finds_nothing(run: Any, drifted: str) -> None:
    assert run("repair", drifted, "--force", "--confirm").code == 0

    ran = run("repair", drifted)

    assert ran.code == 0
    assert "no drift" in ran.out


def test_force_without_confirm_is_a_wrong_invocation(run: Any, local_root: str) -> None:
    ran = run("repair", local_root, "--force")

    assert ran.code == 2
    assert "--confirm" in ran.err


def test_an_unknown_table_names_the_known_ones(run: Any, drifted: str) -> None:
    ran = run("repair", drifted, "--table", "node:Submarine")

    assert ran.code == 1
    assert "node:Sailor" in ran.err
    assert run("repair", drifted, "--table", TABLE).code == 0


@pytest.mark.parametrize("wrong", ["1.5h", "7D", "1h30m", ""])
def test_a_wait_that_is_no_duration_is_refused(run: Any, local_root: str, wrong: str) -> None:
    ran = run("repair", local_root, "--wait", wrong)

    assert ran.code == 2
    assert "s, m, h, d, w" in ran.err
