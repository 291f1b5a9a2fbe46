"""Taking a parsed `cluster.yaml` apart: every key known, every value of its kind; each mistake is one finding."""

from collections.abc import Collection

from omnigraph.base.nearest import nearest
from omnigraph.base.plain_text import plain_text, printable
from omnigraph.cluster.diagnostics import DiagnosticCode, Diagnostics

_SHOWN_MAX = 60


class KeyReader:
    """Reads values by the path of their key, and notes what is wrong instead of stopping at it."""

    def __init__(self, found: Diagnostics) -> None:
        self.found = found

    def wrong(self, path: str, reason: str, code: DiagnosticCode = DiagnosticCode.INVALID_CLUSTER_YAML) -> None:
        """Note a mistake at a key."""
        self.found.error(code, path, reason)

    def mapping(self, value: object, path: str) -> dict[str, object]:
        """Return a mapping of texts to anything; one that is left out is empty."""
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.wrong(path, f"`{path}` must be a mapping of keys to values, not {_shown(value)}.")
            return {}
        members = {}
        for key, member in value.items():
            if isinstance(key, str):
                members[key] = member
            else:
                self.wrong(path, f"`{path}` has the key {_shown(key)}, which is not text to YAML; quote it.")
        return members

    def keys(self, value: object, path: str, known: Collection[str]) -> dict[str, object]:
        """Return a mapping whose keys are known; others are noted and left out."""
        members = self.mapping(value, path)
        for key in [key for key in members if key not in known]:
            del members[key]
            near = nearest(key, known)
            meant = f"did you mean `{near}`?" if near else f"known are {', '.join(sorted(known))}."
            whole = f"{path}.{key}" if path else key
            self.wrong(whole, f"`{printable(whole)}` is an unknown key; {meant}")
        return members

    def text(self, value: object, path: str, code: DiagnosticCode = DiagnosticCode.INVALID_CLUSTER_YAML) -> str | None:
        """Return a text that is not blank, or None after noting why there is none."""
        if isinstance(value, str) and value.strip():
            return self._plain(value.strip(), path)
        given = "is missing" if value is None else "is blank" if isinstance(value, str) else f"is {_shown(value)}"
        self.wrong(path, f"`{path}` {given}; it must be text.", code)
        return None

    def _plain(self, text: str, path: str) -> str | None:
        """Return text that a terminal can show and a file can be called; nothing else stands in this file."""
        try:
            return plain_text(text, what=f"`{path}`", refusal=ValueError)
        except ValueError as refusal:
            self.wrong(path, str(refusal))
            return None

    def texts(self, value: object, path: str) -> list[str]:
        """Return a list of texts that are not blank."""
        if not isinstance(value, list):
            self.wrong(path, f"`{path}` must be a list, not {_shown(value)}.")
            return []
        read = [self.text(item, f"{path}[{place}]") for place, item in enumerate(value)]
        return [item for item in read if item is not None]


def _shown(value: object) -> str:
    return printable(repr(value))[:_SHOWN_MAX]
