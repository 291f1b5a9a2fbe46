import os
import re

import lance
import pyarrow as pa
import pytest

from omnigraph.errors import StorageError
from omnigraph.storage.objects import open_objects
from omnigraph.storage.settings import Credentials, S3Settings, StoreSettings
from omnigraph.storage.uris import GraphRoot
from support.faulty_s3 import FaultyS3, faulty_s3

ROOT = GraphRoot.parse("s3://bucket/g.omni")
KEYS = {"AWS_ACCESS_KEY_ID": "env-key", "AWS_SECRET_ACCESS_KEY": "env-secret"}


def resolve(options=None, environ=None) -> S3Settings:
    settings = StoreSettings.resolve(ROOT, options, environ or {}).s3
    assert settings is not None
    return settings


def test_a_local_graph_needs_no_settings():
    settings = StoreSettings.resolve(GraphRoot.parse("/data/g"), {"aws_region": "eu-west-1"}, KEYS)

    assert settings == StoreSettings()
    assert settings.lance_options is None


def test_the_environment_gives_credentials_region_and_endpoint():
    settings = resolve(
        environ={
            **KEYS,
            "AWS_SESSION_TOKEN": "env-token",
            "AWS_REGION": "eu-west-1",
            "AWS_DEFAULT_REGION": "eu-west-2",
            "AWS_ENDPOINT_URL_S3": "https://s3.example.org",
            "AWS_ENDPOINT_URL": "https://other.example.org",
            "AWS_S3_FORCE_PATH_STYLE": "true",
        }
    )

    assert settings == S3Settings(
        bucket="bucket",
        region="eu-west-1",
        endpoint="https://s3.example.org",
        allow_http=False,
        path_style=True,
        credentials=Credentials(access_key_id="env-key", secret_access_key="env-secret", session_token="env-token"),
    )


@pytest.mark.parametrize(
    ("environ", "region", "endpoint"),
    [
        ({}, "us-east-1", None),
        ({"AWS_DEFAULT_REGION": "eu-west-2"}, "eu-west-2", None),
        ({"AWS_REGION": "", "AWS_DEFAULT_REGION": "eu-west-2"}, "eu-west-2", None),
        ({"AWS_ENDPOINT_URL": "https://other.example.org"}, "us-east-1", "https://other.example.org"),
    ],
)
def test_weaker_names_and_defaults_fill_what_is_missing(environ, region, endpoint):
    settings = resolve(environ=environ)

    assert (settings.region, settings.endpoint, settings.credentials) == (region, endpoint, None)


def test_explicit_options_win_over_the_environment():
    settings = resolve(
        {"region": "eu-north-1", "AWS_ENDPOINT": "http://127.0.0.1:9000", "allow_http": "true"},
        {**KEYS, "AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL_S3": "https://s3.example.org"},
    )

    assert (settings.region, settings.endpoint) == ("eu-north-1", "http://127.0.0.1:9000")
    assert settings.credentials is not None
    assert settings.credentials.access_key_id == "env-key"


def test_keys_are_never_mixed_from_options_and_environment():
    with pytest.raises(StorageError, match="go together"):
        resolve({"access_key_id": "option-key"}, KEYS)


@pytest.mark.parametrize(
    ("options", "environ"),
    [
        ({"nonsense": "1"}, {}),
        ({"allow_http": "maybe"}, {}),
        ({}, {"AWS_ACCESS_KEY_ID": "env-key"}),
        ({}, {"AWS_SESSION_TOKEN": "env-token"}),
        ({}, {"AWS_ENDPOINT_URL": "http://127.0.0.1:9000"}),
        ({}, {"AWS_ENDPOINT_URL": "127.0.0.1:9000"}),
        ({}, {"AWS_ENDPOINT_URL": "https://me:hunter2@host"}),
        ({"access_key_id": "k", "secret_access_key": "s"}, {"AWS_SESSION_TOKEN": "env-token"}),
    ],
)
def test_settings_that_cannot_work_are_refused_before_anything_is_sent(options, environ):
    with pytest.raises(StorageError) as caught:
        resolve(options, environ)

    assert caught.value.details["storage_kind"] == "configuration"
    assert "hunter2" not in str(caught.value)


def test_an_unencrypted_endpoint_is_refused_with_the_setting_that_permits_it():
    with pytest.raises(StorageError, match="AWS_ALLOW_HTTP=true"):
        resolve(environ={"AWS_ENDPOINT_URL": "http://127.0.0.1:9000"})


def test_no_secret_is_ever_shown():
    settings = StoreSettings.resolve(ROOT, None, {**KEYS, "AWS_SESSION_TOKEN": "env-token"})

    shown = f"{settings!r} {settings}"

    assert not re.search("env-key|env-secret|env-token", shown)


def test_without_path_style_the_bucket_moves_into_the_host():
    settings = resolve(environ={"AWS_S3_FORCE_PATH_STYLE": "false", "AWS_ENDPOINT_URL": "https://s3.example.org:8443"})

    assert settings.options()["aws_endpoint_url_s3"] == "https://bucket.s3.example.org:8443"
    assert settings.options()["aws_virtual_hosted_style_request"] == "true"


@pytest.fixture
def elsewhere(s3_server):
    """A second endpoint, for settings that must not be followed."""
    with faulty_s3(s3_server) as proxy:
        yield proxy


def write_with_both(uri: str, options: dict[str, str] | None) -> None:
    root = GraphRoot.parse(uri)
    settings = StoreSettings.resolve(root, options, os.environ)
    lance.write_dataset(pa.table({"x": [1]}), root.table_uri("nodes"), storage_options=settings.lance_options)
    open_objects(root, settings).create("control.json", b"{}")


def signed_by(proxy: FaultyS3) -> set[tuple[str, str, str | None]]:
    """Access key, region and session token of every request, by both libraries together."""
    agents = {seen.path.endswith("control.json") for seen in proxy.seen}
    assert agents == {True, False}, "one of the two libraries did not come here"
    found = set()
    for seen in proxy.seen:
        credential = re.search(r"Credential=([^/]+)/\d+/([^/]+)/", seen.headers["authorization"])
        found.add((credential[1], credential[2], seen.headers.get("x-amz-security-token")))
    return found


@pytest.mark.s3
def test_lance_and_control_objects_follow_the_environment_alike(s3_root, s3_faults, monkeypatch):
    monkeypatch.setenv("AWS_SESSION_TOKEN", "env-token")
    monkeypatch.delenv("AWS_REGION")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-2")

    write_with_both(s3_root, None)

    assert signed_by(s3_faults) == {("test-key", "eu-west-2", "env-token")}


@pytest.mark.s3
def test_lance_and_control_objects_agree_on_a_region_when_none_is_given(s3_root, s3_faults, monkeypatch):
    monkeypatch.delenv("AWS_REGION")

    write_with_both(s3_root, None)

    assert signed_by(s3_faults) == {("test-key", "us-east-1", None)}


@pytest.mark.s3
def test_explicit_options_take_both_libraries_away_from_the_environments_endpoint(
    s3_root, s3_faults, elsewhere, monkeypatch
):
    monkeypatch.setenv("AWS_VIRTUAL_HOSTED_STYLE_REQUEST", "true")
    options = {
        "endpoint": elsewhere.url,
        "region": "eu-north-1",
        "access_key_id": "option-key",
        "secret_access_key": "option-secret",
        "session_token": "option-token",
    }

    write_with_both(s3_root, options)

    assert s3_faults.seen == []
    assert signed_by(elsewhere) == {("option-key", "eu-north-1", "option-token")}
