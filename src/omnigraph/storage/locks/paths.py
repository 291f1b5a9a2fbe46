"""Where locks and leases lie."""

READER_LEASES = "__locks/readers"


def lock_path(name: str) -> str:
    """Return the object of the lock `name`, such as `schema`, `maintenance` or `branch/main`.

    Slashes inside a branch name become `~`, which no branch name contains: as directories, the lock of branch
    `a.json/b` would collide with the one of branch `a`, whose file `a.json` is never removed.
    """
    kind, slash, rest = name.partition("/")
    return f"__locks/{kind}{slash}{rest.replace('/', '~')}.json"
