"""Which token is sent where: the longest server that a URL lies below, its variable, its entry, the general one."""

import pytest

from omnigraph.cli.tokens import server_of, token_for, token_variable

SERVERS = {
    "local": "http://h:8080",
    "prod": "https://Graph.Example.org/",
    "tenant": "https://graph.example.org/tenants/a",
    "v6": "http://[::1]:8080",
    "broken": "https://h:port",
    "storage": "s3://bucket",
}


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("http://h:8080", "local"),
        ("http://h:8080/", "local"),
        ("http://h:8080/graphs/a", "local"),
        ("HTTP://H:8080/graphs/a?branch=main#x", "local"),
        ("http://h:8080-x/", None),
        ("http://h:80801/", None),
        ("http://h/", None),
        ("https://h:8080/", None),
        ("http://h.example:8080/", None),
        ("http://user@h:8080/graphs", "local"),
        ("http://h:8080@evil.example/", None),
        ("https://graph.example.org", "prod"),
        ("https://GRAPH.EXAMPLE.ORG:443/graphs/a", "prod"),
        ("https://graph.example.org:8443/graphs/a", None),
        ("http://graph.example.org:443/", None),
        ("https://graph.example.org/tenants", "prod"),
        ("https://graph.example.org/tenants/a", "tenant"),
        ("https://graph.example.org/tenants/a/graphs/x", "tenant"),
        ("https://graph.example.org/tenants/ab", "prod"),
        ("https://graph.example.org/Tenants/a", "prod"),
        ("http://[::1]:8080/graphs", "v6"),
        ("https://h:port/", None),
        ("s3://bucket/x", None),
        ("no url", None),
    ],
)
def test_the_server_of_a_url_is_the_longest_one_on_a_segment_boundary(url, name):
    assert server_of(url, SERVERS) == name


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("prod", "OMNIGRAPH_TOKEN_PROD"),
        ("my-prod.eu", "OMNIGRAPH_TOKEN_MY_PROD_EU"),
        ("straße 1", "OMNIGRAPH_TOKEN_STRASSE_1"),
        ("é", "OMNIGRAPH_TOKEN__"),
    ],
)
def test_the_variable_of_a_server(name, variable):
    assert token_variable(name) == variable


KEYED, GENERAL = {"OMNIGRAPH_TOKEN_PROD": " keyed "}, {"OMNIGRAPH_BEARER_TOKEN": "general\n"}
BLANK = {"OMNIGRAPH_TOKEN_PROD": " ", "OMNIGRAPH_BEARER_TOKEN": ""}
AT_PROD, ELSEWHERE = "https://graph.example.org/graphs/a", "https://elsewhere.example.org/graphs/a"


@pytest.mark.parametrize(
    ("url", "environ", "stored", "token"),
    [
        (AT_PROD, KEYED | GENERAL, {"prod": "kept"}, "keyed"),
        (AT_PROD, GENERAL, {"prod": "kept"}, "kept"),
        (AT_PROD, GENERAL, {"prod": " "}, "general"),
        (AT_PROD, GENERAL, {}, "general"),
        (AT_PROD, BLANK, {"prod": "kept"}, "kept"),
        (AT_PROD, BLANK, {}, None),
        (AT_PROD, {}, {}, None),
        (ELSEWHERE, KEYED, {"prod": "kept"}, None),
        (ELSEWHERE, KEYED | GENERAL, {"prod": "kept"}, "general"),
    ],
)
def test_a_keyed_token_goes_to_its_server_alone_and_the_general_one_anywhere(url, environ, stored, token):
    assert token_for(url, servers=SERVERS, environ=environ, stored=stored.get) == token


def test_the_credentials_file_is_not_opened_without_need():
    def unasked(name: str) -> str:
        raise AssertionError(f"looked for {name}")

    assert token_for(AT_PROD, servers=SERVERS, environ=KEYED, stored=unasked) == "keyed"
    assert token_for(ELSEWHERE, servers=SERVERS, environ={}, stored=unasked) is None
