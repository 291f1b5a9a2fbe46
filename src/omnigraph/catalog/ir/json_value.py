"""A JSON value that knows where it stands, so that a refusal can name the place."""

from omnigraph.base.values import dataclass
from omnigraph.errors import GraphCorrupt


def damage(place: str, reason: str) -> GraphCorrupt:
    """Return the error for a stored schema that contradicts itself."""
    return GraphCorrupt(f"The stored schema is damaged at {place}: {reason}. Restore it from a backup.", place=place)


@dataclass(frozen=True, slots=True)
class JsonValue:
    """One value of a stored document; every reading method refuses a value of another kind."""

    value: object
    path: str

    def refuse(self, reason: str) -> GraphCorrupt:
        """Return the error that says what is wrong here."""
        return damage(self.path, reason)

    @property
    def is_null(self) -> bool:
        """Whether the value is null."""
        return self.value is None

    def member(self, name: str) -> "JsonValue":
        """Return a member of an object."""
        if not isinstance(self.value, dict) or name not in self.value:
            raise self.refuse(f"the member {name!r} is missing")
        return JsonValue(self.value[name], f"{self.path}.{name}")

    def has(self, name: str) -> bool:
        """Tell whether this is an object with such a member."""
        return isinstance(self.value, dict) and name in self.value

    def items(self) -> list["JsonValue"]:
        """Return the items of an array."""
        if not isinstance(self.value, list):
            raise self.refuse("an array is expected")
        return [JsonValue(item, f"{self.path}[{position}]") for position, item in enumerate(self.value)]

    def members(self) -> list[tuple[str, "JsonValue"]]:
        """Return the members of an object, sorted by name."""
        if not isinstance(self.value, dict):
            raise self.refuse("an object is expected")
        return [(name, self.member(name)) for name in sorted(self.value)]

    def text(self) -> str:
        """Return a string."""
        if not isinstance(self.value, str):
            raise self.refuse("a string is expected")
        return self.value

    def flag(self) -> bool:
        """Return a boolean."""
        if not isinstance(self.value, bool):
            raise self.refuse("a boolean is expected")
        return self.value

    def integer(self) -> int:
        """Return a whole number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            raise self.refuse("a whole number is expected")
        return self.value

    def number(self) -> int | float:
        """Return a number."""
        if isinstance(self.value, float):
            return self.value
        return self.integer()

    def literal(self) -> str | int | float | bool:
        """Return a string, number or boolean."""
        if not isinstance(self.value, (str, int, float, bool)):
            raise self.refuse("a string, number or boolean is expected")
        return self.value
