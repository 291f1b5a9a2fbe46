"""Both wire shapes against a real server that misbehaves: what is repeated, what is not, and what is said."""

import json
import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from omnigraph.errors import EmbeddingProvider
from omnigraph.providers.config import EmbedConfig
from omnigraph.providers.embedder import embed_texts
from omnigraph.providers.transport import Pacer, Stopped
from omnigraph.providers.wire import Role
from support.embedding_server import KEY, EmbeddingServer, embedding_server


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with embedding_server() as running:
        yield running


def embed(
    server: EmbeddingServer, *texts: str, provider: str = "openai-compatible", **settings: str
) -> list[list[float]]:
    config = EmbedConfig.from_environ(server.environ(provider, **settings))
    return embed_texts(config, texts, dimension=2).to_pylist()


def failure(server: EmbeddingServer, *texts: str, **settings: str) -> EmbeddingProvider:
    with pytest.raises(EmbeddingProvider) as caught:
        embed(server, *(texts or ("a",)), **settings)
    assert KEY not in str(caught.value)
    return caught.value


def test_the_openai_shape_sends_batches_and_matches_answers_by_index(server):
    texts = [f"{'x' * size}" for size in range(7)]

    vectors = embed(server, *texts, OMNIGRAPH_EMBED_BATCH_SIZE="3", OMNIGRAPH_EMBED_MODEL="M")

    assert [round(first / second) for first, second in vectors] == [1, 2, 3, 4, 5, 6, 7]
    assert sorted(len(request["body"]["input"]) for request in server.requests) == [1, 3, 3]
    (request,) = [request for request in server.requests if len(request["body"]["input"]) == 1]
    assert request["path"] == "/v1/embeddings"
    assert request["headers"]["authorization"] == f"Bearer {KEY}"
    assert request["body"] == {"model": "M", "input": ["xxxxxx"], "dimensions": 2}


def test_the_gemini_shape_sends_one_text_and_its_role(server):
    config = EmbedConfig.from_environ(server.environ("gemini", OMNIGRAPH_EMBED_MODEL="M"))

    vectors = embed_texts(config, ["a", "bb"], dimension=2, role=Role.QUERY).to_pylist()

    assert [round(first / second) for first, second in vectors] == [2, 3]
    request = next(request for request in server.requests if "bb" in json.dumps(request["body"]))
    assert request["path"] == "/v1/models/M:embedContent"
    assert request["headers"]["x-goog-api-key"] == KEY
    assert request["body"] == {
        "model": "models/M",
        "content": {"parts": [{"text": "bb"}]},
        "taskType": "RETRIEVAL_QUERY",
        "outputDimensionality": 2,
    }


def test_vectors_come_back_with_length_one(server):
    (vector,) = embed(server, "some text")

    assert math.isclose(math.hypot(*vector), 1, rel_tol=1e-6)


@pytest.mark.parametrize(
    "misbehaviour",
    [
        {"status": 429, "headers": {"Retry-After": "0"}},
        {"status": 500, "body": "boom"},
        {"status": 503},
        {"drop": True},
        {"body": '{"data": [', "declared_length": 5000},
    ],
    ids=["429", "500", "503", "dropped", "cut short"],
)
def test_what_may_pass_is_tried_again(server, misbehaviour):
    server.misbehave(misbehaviour, misbehaviour)

    assert len(embed(server, "a")) == 1
    assert len(server.requests) == 3


def test_a_request_that_hangs_is_given_up_and_tried_again(server):
    server.misbehave({"hang": True})

    assert len(embed(server, "a", OMNIGRAPH_EMBED_TIMEOUT_MS="200")) == 1
    assert len(server.requests) == 2


def test_attempts_are_bounded_and_the_last_reason_is_told(server):
    server.misbehave(*[{"status": 500, "body": json.dumps({"error": {"message": "out of order"}})}] * 9)

    error = failure(server, OMNIGRAPH_EMBED_RETRY_ATTEMPTS="3")

    assert len(server.requests) == 3
    assert "HTTP status 500: out of order (gave up after 3 attempts)" in str(error)
    assert error.details == {"provider": "openai-compatible", "status": 500}
    assert (error.exit_code, error.retry.value) == (8, "later")


def test_a_pause_that_the_provider_asks_for_counts_against_the_deadline(server):
    server.misbehave({"status": 429, "headers": {"Retry-After": "3600"}, "body": "slow down"})

    error = failure(server, OMNIGRAPH_EMBED_DEADLINE_MS="2000")

    assert len(server.requests) == 1
    assert "429: slow down (gave up after 1 attempt within 2 s)" in str(error)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"status": 401, "body": f"bad key {KEY}"}, "HTTP status 401: bad key …"),
        ({"status": 400, "body": '{"error": {"message": "no such model"}}'}, "no such model"),
        ({"status": 302, "headers": {"Location": "http://127.0.0.1:9/"}}, "HTTP status 302"),
        ({"body": '{"data": [{"index"'}, "not JSON"),
        ({"body": "[]"}, "no array `data`"),
        ({"body": '{"data": [{"index": 1, "embedding": [1, 2]}]}'}, "no vector of index 0"),
        ({"body": '{"data": [{"index": 0, "embedding": [1, 2, 3]}]}'}, "expected a vector of 2 numbers, got 3"),
        ({"body": '{"data": [{"index": 0, "embedding": [NaN, 2]}]}'}, "component 0 of the vector is not finite"),
        ({"body": '{"data": [{"index": 0, "embedding": [0, 0]}]}'}, "zero norm"),
        ({"body": '{"data": [{"index": 0, "embedding": null}]}'}, "no array where a vector should be"),
    ],
)
def test_what_would_be_answered_the_same_again_is_not_repeated(server, answer, reason):
    server.misbehave(answer)

    error = failure(server)

    assert reason in str(error)
    assert len(server.requests) == 1


def test_a_gemini_answer_without_values_is_refused(server):
    server.misbehave({"body": '{"embedding": {}}'})

    assert "no `embedding.values`" in str(failure(server, provider="gemini"))


def test_a_provider_that_is_not_there_is_told_by_host(server):
    error = failure(server, OMNIGRAPH_EMBED_BASE_URL="http://127.0.0.1:9/v1", OMNIGRAPH_EMBED_RETRY_ATTEMPTS="1")

    assert "at 127.0.0.1 failed: the connection failed" in str(error)


def test_one_failure_fails_the_run_and_the_rest_is_not_asked_for(server):
    server.misbehave({"status": 400, "body": "never"})

    error = failure(server, *[str(number) for number in range(64)], OMNIGRAPH_EMBED_BATCH_SIZE="1")

    assert "HTTP status 400" in str(error)
    assert len(server.requests) < 64


def test_requests_that_wait_wake_up_when_the_run_has_failed():
    pacer = Pacer()
    pacer.hold(3600)
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(pacer.wait)
        assert not wait([waiting], timeout=0.05).done

        pacer.stop()

        with pytest.raises(Stopped):
            waiting.result(timeout=30)


def test_no_texts_need_no_key():
    assert embed_texts(EmbedConfig.from_environ({}), [], dimension=2).to_pylist() == []
