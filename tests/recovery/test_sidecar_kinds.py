"""A kind of operation is declared in one place, with what recovery may do to it; an undeclared one is an error."""

import pytest

from omnigraph.errors import Internal
from omnigraph.writes.sidecar import SIDECAR_KINDS, Completion, SidecarKind, sidecar_traits


@pytest.mark.parametrize("kind", SidecarKind)
def test_every_kind_says_what_recovery_may_do(kind: SidecarKind) -> None:
    traits = sidecar_traits(kind)
    assert traits is SIDECAR_KINDS[kind]
    # What is published as planned can also be taken back; what is completed otherwise keeps content, and never is.
    assert traits.is_never_undone is (traits.completion is not Completion.PUBLISH_PLANNED)


def test_only_a_schema_change_concerns_the_writers_of_other_branches() -> None:
    assert [kind for kind, traits in SIDECAR_KINDS.items() if traits.concerns_all_branches] == [
        SidecarKind.SCHEMA_APPLY
    ]


def test_a_kind_that_nobody_declared_is_an_error() -> None:
    with pytest.raises(Internal, match="compost"):
        sidecar_traits("compost")  # type: ignore[arg-type]
