"""A cluster in a bucket: served like any other, and storage is not asked about the head for every request."""

import os

import pytest

from support.served import POLICY, TOKENS, TOKENS_VARIABLE, make_cluster, served_app

READ = "query q($n: String) { match { $a: Artist { name: $n } } return { $a.name } }"
INSERT = "query add($n: String) { insert Artist { name: $n } }"


@pytest.mark.s3
def test_a_cluster_in_a_bucket_is_served_and_one_look_serves_many(s3_root: str) -> None:
    import json

    cluster = s3_root.rpartition("/")[0]
    make_cluster(cluster, policies={"keepers": (POLICY, ("graph.art",))})
    app = served_app(cluster, environ={**os.environ, TOKENS_VARIABLE: json.dumps(TOKENS)})
    try:
        asked = {"query": READ, "params": {"n": "Ines"}}
        app.ask("POST", "/graphs/art/query", asked)
        metrics = app.application.service.metrics
        before = metrics.looks

        answers = [app.start("POST", "/graphs/art/query", asked) for _ in range(100)]
        assert {answer.result(60).json()["row_count"] for answer in answers} == {1}
        looks = metrics.looks - before
        written = app.ask("POST", "/graphs/art/mutate", {"query": INSERT, "params": {"n": "Bucket"}})
        read = app.ask("POST", "/graphs/art/query", {"query": READ, "params": {"n": "Bucket"}})
        exported = app.ask("POST", "/graphs/art/export", {"type_names": ["Artist"]})

        assert looks < 20
        assert written.status_code == 200
        assert read.json()["row_count"] == 1
        assert exported.text.count("\n") == 3
    finally:
        app.close()
