"""The two outcomes of a conditional write that its caller must decide about; they never leave `storage/` untranslated.

Everything else that a store can answer is a `StorageError`.
"""


class ObjectExists(Exception):
    """`create` found an object; nothing was written."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} already exists")
        self.path = path


class ObjectChanged(Exception):
    """`replace` found other content than its token names, or none; nothing was written."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} was changed or deleted by somebody else")
        self.path = path
