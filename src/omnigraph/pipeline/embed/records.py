"""One record of a load file, and what an embed run does with it."""

from omnigraph.base.values import dataclass
from omnigraph.pipeline.embed.choosing import RecordFilter, record_text, spell_record
from omnigraph.pipeline.embed.result import EmbedMode
from omnigraph.pipeline.embed.spec import EmbedSpec
from omnigraph.records.offences import Code, Rejected
from omnigraph.records.strict_json import Json, decode_line


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedJob:
    """What a run does with each record."""

    spec: EmbedSpec
    selection: RecordFilter
    mode: EmbedMode


class EmbedRecord:
    """One line, and what the run does with it."""

    def __init__(self, line: bytes) -> None:
        self.line = line
        self.is_selected = False
        self.needs_vector = False
        self.loses_vector = False
        self.text = ""
        self._value: dict[str, Json] = {}
        self._data: dict[str, Json] = {}
        self._target = ""

    @classmethod
    def read(cls, line: bytes, job: EmbedJob) -> "EmbedRecord":
        """Decode a line and decide; raise `Rejected` if it is not JSON, or a node record without its data."""
        record = cls(line)
        value = decode_line(line)
        if not isinstance(value, dict) or "type" not in value:
            return record
        data, name = value.get("data"), value["type"]
        if not isinstance(data, dict):
            raise Rejected(Code.BAD_ENVELOPE, "the field data must be an object")
        spec = job.spec.types.get(name) if isinstance(name, str) else None
        if spec is None or not isinstance(name, str) or not job.selection.matches(name, data):
            return record
        record.is_selected = True
        record._value, record._data, record._target = value, data, spec.target
        if job.mode is EmbedMode.CLEAN:
            record.loses_vector = spec.target in data
            if record.loses_vector:
                del data[spec.target]
                record._spell()
            return record
        has_vector = data.get(spec.target) not in (None, [])
        record.needs_vector = job.mode is not EmbedMode.FILL_MISSING or not has_vector
        if record.needs_vector:
            record.text = record_text(name, data, spec)
        return record

    def set_vector(self, components: list[Json]) -> None:
        """Put the vector into the record; members keep their order."""
        self._data[self._target] = components
        self._spell()

    def _spell(self) -> None:
        self.line = spell_record(self._value).encode() + b"\n"
