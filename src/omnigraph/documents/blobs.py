"""What is known of one Blob value."""

from typing import TYPE_CHECKING

from omnigraph.base.values import Json, dataclass

if TYPE_CHECKING:
    from omnigraph.graphs.blobs import Blob


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownBlob:
    """A value, and how the state that it was looked for in was addressed: by branch, or by snapshot."""

    blob: "Blob"
    branch: str
    snapshot: str | None


def blob_document(shown: ShownBlob) -> Json:
    """Describe a value; what does not apply to its kind is left out."""
    blob, selector = shown.blob, shown.blob.selector
    facts = {"size": blob.size, "etag": blob.etag, "uri": blob.uri}
    addressed = {"branch": shown.branch} if shown.snapshot is None else {"snapshot": shown.snapshot}
    return {
        "selector": {
            "entity": selector.entity,
            "type": selector.type,
            "id": selector.id,
            "property": selector.property,
        },
        "kind": blob.kind,
        **{name: value for name, value in facts.items() if value is not None},
        "target": {**addressed, "resolved_snapshot": blob.commit_id},
    }
