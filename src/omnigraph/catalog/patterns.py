"""The regular expressions of `@check`: RE2, the dialect that Arrow and DuckDB share."""


def pattern_mistake(pattern: str) -> str | None:
    """Return why RE2 does not accept a pattern, or None."""
    import pyarrow as pa

    try:
        # Arrow compiles the pattern with the first value: an empty array would accept anything.
        _search(pattern, [""])
    except pa.ArrowInvalid as refused:
        return str(refused)
    return None


def pattern_is_found(pattern: str, text: str) -> bool:
    """Tell whether `text` contains a match; the search is not anchored."""
    return _search(pattern, [text]) == [True]


def _search(pattern: str, texts: list[str]) -> list[bool]:
    import pyarrow as pa
    import pyarrow.compute as pc

    found: list[bool] = pc.match_substring_regex(pa.array(texts, pa.string()), pattern=pattern).to_pylist()
    return found
