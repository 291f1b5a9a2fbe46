"""What somebody asks of a mutation."""

from collections.abc import Mapping
from dataclasses import field

from omnigraph.base.values import dataclass
from omnigraph.errors import InvalidTarget
from omnigraph.manifest.commits import MAIN_BRANCH


@dataclass(frozen=True, slots=True, kw_only=True)
class MutateRequest:
    """A mutation as somebody asks for it; `query` is the text, `name` which query of it is meant."""

    query: str
    name: str | None = None
    params: Mapping[str, object] = field(default_factory=dict)
    branch: str = MAIN_BRANCH
    if_commit: str | None = None
    actor: str | None = None
    message: str | None = None
    query_source: str = "<query>"

    def __post_init__(self) -> None:
        if not isinstance(self.query, str):
            raise InvalidTarget(f"query is the text of a query, not {self.query!r}.")
