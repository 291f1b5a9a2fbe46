"""What the address of the page says: the text, its query, the values, how the answer is shown, whether it was run."""

from collections.abc import Mapping

from omnigraph.base.values import dataclass

VIEWS = ("table", "graph", "chart", "steps")
_PARAMETER = "p."
_ADDRESS_LETTERS_MAX = 12_000
"""What browsers and servers take in an address without trouble."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryAddress:
    """The state of the page."""

    text: str = ""
    name: str | None = None
    stored: str | None = None
    """The stored query whose form is open; then there is no text."""
    typed: Mapping[str, str] | None = None
    """What stands in the fields, by parameter."""
    view: str = VIEWS[0]
    was_run: bool = False

    def parts(self) -> dict[str, str | None]:
        """Return what the address holds; a text that is too long for one is left out."""
        fields = {f"{_PARAMETER}{name}": value for name, value in (self.typed or {}).items()}
        parts: dict[str, str | None] = {
            "q": None if self.stored else self.text,
            "name": self.name,
            "stored": self.stored,
            **fields,
            "view": None if self.view == VIEWS[0] else self.view,
            "run": "1" if self.was_run else None,
        }
        if sum(len(str(value)) for value in parts.values()) > _ADDRESS_LETTERS_MAX:
            return {"view": parts["view"]}
        return parts


def asked_of(query: Mapping[str, str]) -> QueryAddress:
    """Read the state of the page off its address."""
    view = query.get("view", "")
    return QueryAddress(
        text=query.get("q", ""),
        name=query.get("name") or None,
        stored=query.get("stored") or None,
        typed={key.removeprefix(_PARAMETER): value for key, value in query.items() if key.startswith(_PARAMETER)},
        view=view if view in VIEWS else VIEWS[0],
        was_run=query.get("run") == "1",
    )
