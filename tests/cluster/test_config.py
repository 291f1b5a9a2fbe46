"""Reading cluster.yaml: every mistake of a configuration has its code and its place, and the right one is accepted."""

from pathlib import Path

import pytest

from omnigraph.cluster.commands import validate_cluster
from support.museums import KEEPERS, ONE_GRAPH, declare, write_museum

GRAPH = "graphs:\n  artworks:\n    schema: art.pg\n"
BLOBS = "    external_blobs: {allow: [%s]}\n"
PROVIDER = "providers: {embedding: {default: %s}}\n"

CASES = [
    ("invalid_cluster_yaml", "", "graphs: [", "cluster.yaml"),
    ("invalid_cluster_yaml", "", "graphs: nonsense\n", "graphs"),
    ("invalid_cluster_yaml", "", "graphz: {}\n", "graphz"),
    ("invalid_cluster_yaml", "", GRAPH + "    shema: x\n", "graphs.artworks.shema"),
    ("invalid_cluster_yaml", "", "state: {lock: sometimes}\n", "state.lock"),
    ("invalid_cluster_yaml", "", "graphs: {2024-01-01: {schema: art.pg}}\n", "graphs"),
    ("invalid_cluster_yaml", "", "graphs: {on: {schema: art.pg}, art: {schema: art.pg}}\n", "graphs"),
    ("invalid_cluster_yaml", "", "metadata: &itself [*itself]\n", "metadata"),
    ("invalid_cluster_yaml", "", 'graphs: {art: {schema: "a\\0b"}}\n', "graphs.art.schema"),
    ("invalid_cluster_yaml", "", 'graphs: {art: {schema: "a\\eb"}}\n', "graphs.art.schema"),
    ("empty_metadata_name", "", "metadata: {name: 2024-01-01}\n", "metadata.name"),
    ("duplicate_yaml_key", "", "graphs: {}\ngraphs: {}\n", "cluster.yaml"),
    ("future_phase_field", "", "pipelines: {}\n", "pipelines"),
    ("future_phase_field", "", "aliases:\n", "aliases"),
    ("unsupported_cluster_config_version", "version: 2\n", "graphs: {}\n", "version"),
    ("unsupported_cluster_config_version", "version: true\n", "graphs: {}\n", "version"),
    ("empty_metadata_name", "", "metadata: {name: ' '}\n", "metadata.name"),
    ("unsupported_state_backend", "", "state: {backend: etcd}\n", "state.backend"),
    ("invalid_storage_root", "", "storage: 's3://'\n", "storage"),
    ("invalid_storage_root", "", "storage: ftp://host/x\n", "storage"),
    ("invalid_storage_root", "", "storage: 's3://[bucket/x'\n", "storage"),
    ("invalid_storage_root", "", "storage: 's3://key:secret@bucket/x'\n", "storage"),
    ("invalid_storage_root", "", "storage: 'file:///%00'\n", "storage"),
    ("invalid_resource_id", "", "graphs: {_art: {schema: art.pg}}\n", "graphs._art"),
    ("invalid_resource_id", "", "graphs: {healthz: {schema: art.pg}}\n", "graphs.healthz"),
    ("schema_file_missing", "", "graphs: {art: {schema: none.pg}}\n", "graphs.art.schema"),
    ("schema_parse_error", "", "graphs: {art: {schema: broken.pg}}\n", "graphs.art.schema"),
    ("schema_catalog_error", "", "graphs: {art: {schema: dangling.pg}}\n", "graphs.art.schema"),
    ("query_dir_unreadable", "", GRAPH + "    queries: nowhere/\n", "graphs.artworks.queries"),
    ("query_dir_empty", "", GRAPH + "    queries: empty/\n", "graphs.artworks.queries"),
    ("query_file_missing", "", GRAPH + "    queries: none.gq\n", "graphs.artworks.queries"),
    ("query_parse_error", "", GRAPH + "    queries: broken.gq\n", "graphs.artworks.queries"),
    ("duplicate_query_name", "", GRAPH + "    queries: [queries/, twin.gq]\n", "graphs.artworks.queries"),
    ("query_key_mismatch", "", GRAPH + "    queries: {other: {file: twin.gq}}\n", "graphs.artworks.queries.other"),
    ("query_typecheck_error", "", GRAPH + "    queries: unfit.gq\n", "query.artworks.unfit"),
    (
        "query_typecheck_skipped",
        "",
        "graphs: {art: {schema: broken.pg, queries: twin.gq}}\n",
        "query.art.by_artist",
    ),
    (
        "policy_file_missing",
        "",
        GRAPH + "policies: {p: {file: none.yaml, applies_to: [artworks]}}\n",
        "policies.p.file",
    ),
    ("policy_invalid", "", GRAPH + "policies: {p: {file: art.pg, applies_to: [artworks]}}\n", "policies.p.file"),
    (
        "policy_invalid",
        "",
        GRAPH + "policies: {p: {file: keepers.policy.yaml, applies_to: [cluster]}}\n",
        "policies.p.file",
    ),
    (
        "policy_missing_applies_to",
        "",
        GRAPH + "policies: {p: {file: keepers.policy.yaml, applies_to: []}}\n",
        "policies.p.applies_to",
    ),
    (
        "policy_mixed_binding_kinds",
        "",
        GRAPH + "policies: {p: {file: keepers.policy.yaml, applies_to: [cluster, artworks]}}\n",
        "policies.p.applies_to",
    ),
    (
        "duplicate_policy_binding",
        "",
        GRAPH
        + "policies:\n  a: {file: keepers.policy.yaml, applies_to: [artworks]}\n"
        + "  b: {file: keepers.policy.yaml, applies_to: [graph.artworks]}\n",
        "policies.b.applies_to",
    ),
    (
        "dangling_graph_reference",
        "",
        GRAPH + "policies: {p: {file: keepers.policy.yaml, applies_to: [none]}}\n",
        "policies.p.applies_to",
    ),
    (
        "wrong_kind_reference",
        "",
        GRAPH + "policies: {p: {file: keepers.policy.yaml, applies_to: [schema.artworks]}}\n",
        "policies.p.applies_to",
    ),
    (
        "dangling_embedding_provider_reference",
        "",
        GRAPH + "    embedding_provider: none\n",
        "graphs.artworks.embedding_provider",
    ),
    (
        "wrong_kind_reference",
        "",
        GRAPH + "    embedding_provider: provider.chat.none\n",
        "graphs.artworks.embedding_provider",
    ),
    ("invalid_embedding_provider", "", PROVIDER % "{kind: oracle}", "providers.embedding.default.kind"),
    (
        "invalid_embedding_provider",
        "",
        PROVIDER % "{kind: mock, base_url: 'https://me:secret@host'}",
        "providers.embedding.default.base_url",
    ),
    ("embedding_api_key_inline", "", PROVIDER % "{api_key: sk-123}", "providers.embedding.default.api_key"),
    ("embedding_api_key_required", "", PROVIDER % "{model: m}", "providers.embedding.default.api_key"),
    (
        "invalid_external_blob_base",
        "",
        GRAPH + BLOBS % "{base: 's3://b/../x', scope: server_safe}",
        "graphs.artworks.external_blobs.allow[0].base",
    ),
    (
        "invalid_external_blob_base",
        "",
        GRAPH + BLOBS % "{base: 'file:///no/such/place', scope: embedded_only}",
        "graphs.artworks.external_blobs.allow[0].base",
    ),
    (
        "invalid_external_blob_base",
        "",
        GRAPH + BLOBS % "{base: 'https://files.example/art', scope: server_safe}",
        "graphs.artworks.external_blobs.allow[0].base",
    ),
    (
        "invalid_external_blob_base",
        "",
        GRAPH + BLOBS % "{base: 's3://b/x%2Fy', scope: server_safe}",
        "graphs.artworks.external_blobs.allow[0].base",
    ),
    (
        "invalid_external_blob_policy",
        "",
        GRAPH + BLOBS % "{base: 's3://b/x', scope: server_safe}, {base: 's3://b/%78/y', scope: embedded_only}",
        "graphs.artworks.external_blobs.allow",
    ),
    (
        "invalid_external_blob_policy",
        "",
        GRAPH + BLOBS % "{base: 's3://b/x', scope: everybody}",
        "graphs.artworks.external_blobs.allow[0].scope",
    ),
    (
        "invalid_external_blob_policy",
        "",
        GRAPH + BLOBS % "{base: 's3://b/x', scope: server_safe}, {base: 's3://b/x/y', scope: server_safe}",
        "graphs.artworks.external_blobs.allow",
    ),
    (
        "invalid_external_blob_policy",
        "",
        GRAPH + BLOBS % "{base: 's3://b/x', scope: [server_safe]}",
        "graphs.artworks.external_blobs.allow[0].scope",
    ),
    (
        "invalid_external_blob_base",
        "",
        GRAPH + BLOBS % "{base: 's3://[b/x', scope: server_safe}",
        "graphs.artworks.external_blobs.allow[0].base",
    ),
    ("invalid_maintenance_settings", "", "maintenance: {cleanup: {keap: 3}}\n", "maintenance.cleanup.keap"),
    (
        "external_blob_ingress_default_deny",
        "",
        "graphs: {art: {schema: scans.pg}}\n",
        "graphs.art.external_blobs",
    ),
]


@pytest.fixture(scope="module")
def museum(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files with every kind of mistake beside those that are right."""
    directory = tmp_path_factory.mktemp("museum")
    write_museum(directory)
    directory.joinpath("empty").mkdir()
    texts = {
        "broken.pg": "node {",
        "dangling.pg": "edge Knows: Nobody -> Nobody\n",
        "scans.pg": "node Scan {\n  name: String @key\n  image: Blob?\n}\n",
        "broken.gq": "query {",
        "twin.gq": "query by_artist() { match { $a: Artist } return { $a.name } }\n",
        "unfit.gq": "query unfit() { match { $a: Painter } return { $a.name } }\n",
    }
    for name, text in texts.items():
        directory.joinpath(name).write_text(text, encoding="utf-8")
    return directory


@pytest.mark.parametrize(("code", "version", "body", "path"), CASES, ids=[f"{c[0]}-{i}" for i, c in enumerate(CASES)])
def test_a_mistake_has_its_code_and_its_place(museum: Path, code: str, version: str, body: str, path: str) -> None:
    museum.joinpath("cluster.yaml").write_text((version or "version: 1\n") + body, encoding="utf-8")

    found = validate_cluster(str(museum)).diagnostics

    assert (code, path) in {(diagnostic.code, diagnostic.path) for diagnostic in found}


@pytest.mark.parametrize("section", ["providers", "graphs", "policies"])
def test_a_section_of_the_wrong_kind_is_reported_once(museum: Path, section: str) -> None:
    declare(museum, f"{section}: [art]\n")

    assert [found.path for found in validate_cluster(str(museum)).diagnostics] == [section]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"version: 1\ngraphs:\n\tart: {}\n", "line 3, column 1: found character '\\t' that cannot start any token; "),
        (
            b"version: 1\n---\nversion: 1\n",
            "line 2, column 1: expected a single document in the stream but found another document.",
        ),
        (b"version: 1\nmetadata: \xff\n", "it is not UTF-8 text (byte 22)."),
    ],
)
def test_a_file_that_cannot_be_parsed_says_where_in_one_line(museum: Path, content: bytes, reason: str) -> None:
    museum.joinpath("cluster.yaml").write_bytes(content)

    (found,) = validate_cluster(str(museum)).diagnostics

    assert f"cluster.yaml cannot be parsed: {reason}" in found.message
    assert "unicode string" not in found.message


def test_a_mark_of_utf_8_at_the_beginning_of_the_file_is_read_over(museum: Path) -> None:
    museum.joinpath("cluster.yaml").write_bytes(b"\xef\xbb\xbfversion: 1\n")

    assert validate_cluster(str(museum)).ok


def test_a_directory_or_file_that_is_not_there_has_its_code(tmp_path: Path) -> None:
    assert [found.code for found in validate_cluster(str(tmp_path / "none")).diagnostics] == ["config_dir_not_found"]
    assert [found.code for found in validate_cluster(str(tmp_path)).diagnostics] == ["cluster_config_read_error"]


def test_a_duplicate_key_is_named_with_its_line(museum: Path) -> None:
    declare(museum, "graphs:\n  art: {schema: art.pg}\n  art: {schema: art.pg}\n")

    (found,) = validate_cluster(str(museum)).diagnostics

    assert (found.code, "'art'" in found.message, "line 4" in found.message) == ("duplicate_yaml_key", True, True)


def test_a_whole_configuration_is_accepted(museum: Path) -> None:
    scans = museum / "empty"
    declare(
        museum,
        "metadata: {name: museum}\nstate: {backend: cluster, lock: true}\nmaintenance: {}\n"
        "providers: {embedding: {default: {kind: mock}, other: {api_key: '${KEY}', model: m}}}\n"
        "graphs:\n  artworks:\n    schema: art.pg\n    queries: {by_artist: {file: queries/art.gq}}\n"
        "    embedding_provider: provider.embedding.default\n"
        f"    external_blobs: {{allow: [{{base: 's3://b/x', scope: server_safe}}, "
        f"{{base: 'file://{scans}', scope: embedded_only}}]}}\n"
        "policies:\n  keepers: {file: keepers.policy.yaml, applies_to: [graph.artworks]}\n"
        "  server: {file: server.policy.yaml, applies_to: [cluster]}\n",
    )

    result = validate_cluster(str(museum))

    assert result.diagnostics == ()
    assert result.desired is not None
    assert list(result.desired.digests) == [
        "graph.artworks",
        "policy.keepers",
        "policy.server",
        "provider.embedding.default",
        "provider.embedding.other",
        "query.artworks.by_artist",
        "schema.artworks",
    ]
    assert ("graph.artworks", "provider.embedding.default") in result.desired.dependencies


def test_comments_layout_and_maintenance_do_not_change_the_digest(museum: Path) -> None:
    digests = set()
    for body in (ONE_GRAPH + KEEPERS, f"# why\n{KEEPERS}\n{ONE_GRAPH}", ONE_GRAPH + KEEPERS + "maintenance: {}\n"):
        declare(museum, body)
        desired = validate_cluster(str(museum)).desired
        assert desired is not None
        digests.add(desired.config_digest)

    assert len(digests) == 1
