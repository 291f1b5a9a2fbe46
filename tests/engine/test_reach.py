"""An address where nobody is, or where somebody is who says nothing, is told within seconds."""

import socket
from collections.abc import Iterator

import pytest

from omnigraph.engine.choice import EngineChoice, EngineName, SparkAddress
from omnigraph.engine.spark import session
from omnigraph.engine.spark.reach import unreachable
from omnigraph.errors import EngineUnavailable


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of somebody who takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def nobody() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


def test_an_address_where_nobody_is_says_so(nobody: str) -> None:
    for url in (f"sc://{nobody}", f"spark://{nobody}", f"sc://{nobody}/;token=secret", f"k8s://https://{nobody}"):
        reason = unreachable(url)
        assert reason is not None
        assert "refused" in reason
        assert "secret" not in reason


def test_one_master_that_answers_is_enough(silent: str, nobody: str) -> None:
    assert unreachable(f"spark://{nobody},{silent}") is None
    assert unreachable(f"sc://{silent}") is None


@pytest.mark.parametrize("url", ["local[*]", "local-cluster[2,1,1024]", "yarn"])
def test_a_master_without_an_address_counts_as_there(url: str) -> None:
    assert unreachable(url) is None


@pytest.mark.parametrize(("scheme", "is_remote"), [("sc", True), ("spark", False)])
def test_a_session_where_nobody_is_is_refused_before_spark_is_asked(scheme: str, is_remote: bool, nobody: str) -> None:
    url = f"{scheme}://{nobody}/;token=secret"
    address = SparkAddress(url=url, is_remote=is_remote, setting="--spark-remote")
    choice = EngineChoice(engine=EngineName.SPARK, session=address)

    with pytest.raises(EngineUnavailable, match=f"needs {scheme}://{nobody}, where nobody answers") as refusal:
        session._expect_somebody(choice)

    assert "secret" not in str(refusal.value)


def test_a_silent_endpoint_is_given_up(silent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_ANSWER_SECONDS", 1.0)
    address = SparkAddress(url=f"sc://{silent}", is_remote=True, setting="--spark-remote")

    with pytest.raises(EngineUnavailable, match="no answer within 1 seconds"):
        session._connect(EngineChoice(engine=EngineName.SPARK, session=address))
