"""`login` and `logout`: the file of tokens, who can read it, and what is left alone in it."""

import io
import stat
import sys
from pathlib import Path

import pytest

from omnigraph.cli.credentials import token_in, with_token, without_section

OTHERS = "# mine\n\n[staging]\ntoken = 'abc'   \ncolour = red\r\n; and this\n[empty]\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_login_keeps_a_token_that_only_its_owner_can_read(run, home, configure):
    configure("servers: { prod: { url: https://graph.example.org } }")

    ran = run("login", "prod", "--token", "7f3c", "--json")

    path = home / "credentials"
    assert (ran.code, ran.err) == (0, "")
    assert ran.document == {"server": "prod", "credentials_path": str(path), "declared": True}
    assert list(ran.document) == ["server", "credentials_path", "declared"]
    assert path.read_text() == "[prod]\ntoken = 7f3c\n"
    assert mode_of(path) == 0o600
    assert [entry.name for entry in home.iterdir() if entry.name != "config.yaml"] == ["credentials"]


def test_a_new_home_is_private(run, home):
    assert run("login", "prod", "--token", "7f3c").code == 0

    assert mode_of(home) == 0o700


def test_a_server_that_is_not_declared_is_noted_and_the_token_is_never_printed(run):
    ran = run("login", "prod", "--token", "7f3c-secret")

    assert ran.code == 0
    assert ran.err.startswith("note: no server is called 'prod' under `servers:` in ")
    assert "7f3c-secret" not in ran.out + ran.err


@pytest.mark.parametrize(("line", "token"), [("7f3c\n", "7f3c"), ("  7f3c  \nmore\n", "7f3c"), ("7f3c", "7f3c")])
def test_the_token_is_one_line_of_standard_input(line, token, run, home, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(line))

    assert run("login", "prod").code == 0

    assert token_in((home / "credentials").read_text(), "prod") == token


def test_at_a_terminal_the_token_is_asked_for_and_hidden(run, home, monkeypatch):
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("getpass.getpass", lambda prompt: "7f3c" if prompt == "Token of prod: " else "")

    assert run("login", "prod").code == 0

    assert token_in((home / "credentials").read_text(), "prod") == "7f3c"


@pytest.mark.parametrize("token", ["", "  ", "two words", "ümlaut", "line\nfeed"])
def test_a_token_that_no_request_can_carry_is_refused_and_not_repeated(token, run, home):
    ran = run("login", "prod", "--token", token)

    assert ran.code == 2
    assert "token" in ran.err
    assert not token.strip() or token not in ran.err
    assert not (home / "credentials").exists()


@pytest.mark.parametrize("name", ["", " ", "a]b", "[a"])
def test_a_name_that_is_no_section_is_refused(name, run):
    for command in (("login", name, "--token", "7f3c"), ("logout", name)):
        assert run(*command).code == 2


def test_logout_forgets_one_token_however_often(run, home):
    run("login", "prod", "--token", "7f3c")
    run("login", "staging", "--token", "abc")

    for _ in range(2):
        ran = run("logout", "prod", "--json")
        assert ran.code == 0
        assert ran.document == {"server": "prod", "credentials_path": str(home / "credentials")}

    assert (home / "credentials").read_text().strip() == "[staging]\ntoken = abc"


def test_logout_without_a_file_makes_none(run, home):
    assert run("logout", "prod").code == 0

    assert not home.exists()


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o620, 0o604, 0o601])
@pytest.mark.parametrize("line", [("login", "prod", "--token", "new"), ("logout", "prod")])
def test_a_file_that_others_can_open_is_neither_read_nor_rewritten(mode, line, run, home):
    run("login", "prod", "--token", "7f3c")
    path = home / "credentials"
    path.chmod(mode)

    ran = run(*line, "--json")

    assert ran.code == 1
    assert ran.document["kind"] == "credentials_permissions"
    assert ran.document["credentials_permissions"] == {"path": str(path), "mode": f"{mode:04o}"}
    assert f"chmod 600 {path}" in ran.err
    assert path.read_text() == "[prod]\ntoken = 7f3c\n"
    assert mode_of(path) == mode


def test_what_a_killed_login_left_is_in_nobodys_way(run, home):
    home.mkdir()
    (home / ".credentials.unfinished").write_text("[prod]\ntoken = half", encoding="utf-8")

    assert run("login", "prod", "--token", "7f3c").code == 0

    assert (home / "credentials").read_text() == "[prod]\ntoken = 7f3c\n"
    assert sorted(entry.name for entry in home.iterdir()) == ["credentials"]


def test_a_link_to_the_file_stays_one(run, home, tmp_path):
    home.mkdir()
    kept = tmp_path / "kept"
    kept.write_text("", encoding="utf-8")
    kept.chmod(0o600)
    (home / "credentials").symlink_to(kept)

    assert run("login", "prod", "--token", "7f3c").code == 0

    assert (home / "credentials").is_symlink()
    assert kept.read_text() == "[prod]\ntoken = 7f3c\n"


@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("[prod]\ntoken = abc", "abc"),
        ("[prod]\n  token=abc  \n", "abc"),
        ("[ prod ]\ntoken = 'abc'", "abc"),
        ('[prod]\ntoken = "abc"', "abc"),
        ("[prod]\ntoken = \"abc'", "\"abc'"),
        ("[prod]\ntoken =", None),
        ("[prod]\ntoken = ''", None),
        ("[prod]\ncolour = red", None),
        ("token = abc", None),
        ("[other]\ntoken = abc\n[prod]", None),
        ("[prod]\ntoken = old\n[other]\n[prod]\ntoken = new", "new"),
        ("# [prod]\n# token = abc", None),
        ("[prod]\r\ntoken = abc\r\n", "abc"),
        ("[prod]\ntokens = abc", None),
    ],
)
def test_how_a_token_is_written_in_the_file(text, token):
    assert token_in(text, "prod") == token


@pytest.mark.parametrize("token", ["abc", "'abc'", '"abc"', "'", '"', "a=b", "#x", "[x]", "'\"'"])
def test_a_token_is_read_as_it_was_written(token):
    for text in ("", OTHERS, "[prod]\ntoken = 1\n"):
        assert token_in(with_token(text, "prod", token), "prod") == token


def test_other_sections_are_kept_as_they_are():
    changed = with_token(OTHERS, "prod", "new")

    assert changed == f"{OTHERS}\n[prod]\ntoken = new\n"
    assert with_token(changed, "prod", "newer") == f"{OTHERS}\n[prod]\ntoken = newer\n"
    assert without_section(changed, "prod") == f"{OTHERS}\n"
    replaced = with_token(OTHERS, "staging", "new")
    assert replaced == OTHERS.replace("token = 'abc'   \n", "token = new\n")
    assert without_section(OTHERS, "staging") == "# mine\n\n[empty]\n"
    assert with_token("[prod]", "prod", "new") == "[prod]\ntoken = new\n"
