"""Many texts to one column of vectors: batches, a few at a time, in the order of the texts."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

import pyarrow as pa

from omnigraph.providers.config import EmbedConfig, Provider
from omnigraph.providers.mock import mock_vector
from omnigraph.providers.transport import Transport, provider_failure
from omnigraph.providers.vectors import BadVector, vector_column
from omnigraph.providers.wire import Role, build_request, read_answer, texts_per_request


def _say_nothing(count: int) -> None:
    del count


def embed_texts(
    config: EmbedConfig,
    texts: Sequence[str],
    *,
    dimension: int,
    role: Role = Role.DOCUMENT,
    advance: Callable[[int], None] = _say_nothing,
) -> pa.FixedSizeListArray:
    """Return one vector of length one per text; raise `EmbeddingConfig` or `EmbeddingProvider` if one is missing.

    `advance` is told how many more texts are done. All vectors are held in memory, so many texts come in portions.
    """
    if config.provider is Provider.MOCK:
        vectors = [mock_vector(text, dimension) for text in texts]
        advance(len(texts))
        return vector_column(vectors, dimension)
    size = texts_per_request(config)
    batches = [texts[start : start + size] for start in range(0, len(texts), size)]
    if batches:
        config.require_key()
    return vector_column(_ask(config, batches, dimension=dimension, role=role, advance=advance), dimension)


def _ask(
    config: EmbedConfig,
    batches: Sequence[Sequence[str]],
    *,
    dimension: int,
    role: Role,
    advance: Callable[[int], None],
) -> list[pa.Array]:
    transport = Transport.to(config)

    def ask(batch: Sequence[str]) -> list[pa.Array]:
        answer = transport.call(build_request(config, batch, dimension=dimension, role=role))
        try:
            return read_answer(config, answer, count=len(batch), dimension=dimension)
        except BadVector as exc:
            raise provider_failure(config, str(exc)) from exc

    with ThreadPoolExecutor(max_workers=config.requests_at_once, thread_name_prefix="omnigraph-embed") as pool:
        running = {pool.submit(ask, batch): len(batch) for batch in batches}
        try:
            for done in as_completed(running):
                done.result()
                advance(running[done])
        except BaseException:
            # One failure fails them all: what waits for another attempt wakes up, what has not begun never does.
            transport.pacer.stop()
            for left in running:
                left.cancel()
            raise
        return [vector for asked in running for vector in asked.result()]
