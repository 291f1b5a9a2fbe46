"""The two wire shapes: what a request looks like, and where its answer holds the vectors.

Nothing here sends anything. Answers are decoded JSON of unknown content; whatever does not fit raises `BadVector`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from urllib.parse import quote

import pyarrow as pa

from omnigraph.base.values import dataclass
from omnigraph.providers.config import EmbedConfig, Provider
from omnigraph.providers.vectors import BadVector, normalised, read_components


class Role(StrEnum):
    """What a text is for; some models embed a question differently from a document."""

    DOCUMENT = "RETRIEVAL_DOCUMENT"
    QUERY = "RETRIEVAL_QUERY"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """One POST; `repr` shows neither the key nor the texts."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


def texts_per_request(config: EmbedConfig) -> int:
    """Return how many texts one request takes."""
    return 1 if config.provider is Provider.GEMINI else config.batch_size


def build_request(config: EmbedConfig, texts: Sequence[str], *, dimension: int, role: Role) -> HttpRequest:
    """Spell the request for a few texts."""
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    body: dict[str, object]
    if config.provider is Provider.GEMINI:
        url = f"{config.base_url}/models/{quote(config.model, safe='')}:embedContent"
        headers["x-goog-api-key"] = config.require_key()
        body = {
            "model": f"models/{config.model}",
            "content": {"parts": [{"text": text} for text in texts]},
            "taskType": role.value,
            "outputDimensionality": dimension,
        }
    else:
        url = f"{config.base_url}/embeddings"
        headers["Authorization"] = f"Bearer {config.require_key()}"
        body = {"model": config.model, "input": list(texts), "dimensions": dimension}
    return HttpRequest(url=url, headers=headers, body=json.dumps(body).encode())


def read_answer(config: EmbedConfig, answer: object, *, count: int, dimension: int) -> list[pa.Array]:
    """Take the vectors out of an answer, in the order of the texts, checked and of length one."""
    found = [_gemini_values(answer)] if config.provider is Provider.GEMINI else _openai_values(answer, count)
    return [normalised(read_components(values, dimension=dimension)) for values in found]


def error_message(body: bytes) -> str:
    """Return what a failed answer says about itself."""
    text = body.decode(errors="replace").strip()
    try:
        decoded = json.loads(text)
    except ValueError:
        return text
    problem = decoded.get("error") if isinstance(decoded, dict) else None
    message = problem.get("message") if isinstance(problem, dict) else None
    return message if isinstance(message, str) else text


def _openai_values(answer: object, count: int) -> list[object]:
    listed = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(listed, list):
        raise BadVector("the answer has no array `data`")
    by_index = {item.get("index"): item.get("embedding") for item in listed if isinstance(item, dict)}
    for index in range(count):
        if index not in by_index:
            raise BadVector(f"the answer has no vector of index {index}")
    return [by_index[index] for index in range(count)]


def _gemini_values(answer: object) -> object:
    embedding = answer.get("embedding") if isinstance(answer, dict) else None
    if not isinstance(embedding, dict) or "values" not in embedding:
        raise BadVector("the answer has no `embedding.values`")
    return embedding["values"]
