"""What the pages and the Dockerfile tell an operator is true of the program: flags, variables, ports and paths."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from omnigraph.server.routes import ROUTES
from omnigraph.server.running import _WRITES_SECONDS
from omnigraph.server.settings import Bind, ServeRequest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "operations" / "server.md").read_text(encoding="utf-8")
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
PUBLIC = {route.path for route in ROUTES if route.is_public}


@pytest.fixture(scope="module")
def variables() -> set[str]:
    """Every variable that the sources of the server and of its command name."""
    sources = [*(ROOT / "src/omnigraph/server").rglob("*.py"), ROOT / "src/omnigraph/cli/commands/serve.py"]
    return {name for path in sources for name in re.findall(r"OMNIGRAPH_[A-Z_]+", path.read_text(encoding="utf-8"))}


def block(kind: str) -> str:
    [found] = re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return found


def test_the_manifest_for_kubernetes_fits_the_server(variables: set[str]) -> None:
    deployment, service = yaml.safe_load_all(block("yaml"))
    pod = deployment["spec"]["template"]["spec"]
    [container] = pod["containers"]

    assert (deployment["apiVersion"], deployment["kind"]) == ("apps/v1", "Deployment")
    assert deployment["spec"]["selector"]["matchLabels"] == deployment["spec"]["template"]["metadata"]["labels"]
    assert {each["name"] for each in container["env"]} <= variables
    [port] = container["ports"]
    for probe in ("readinessProbe", "livenessProbe"):
        asked = container[probe]["httpGet"]
        assert asked["path"] in PUBLIC
        assert asked["port"] == port["containerPort"] == int(bound_port())
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
    [mount] = container["volumeMounts"]
    [tokens] = [each["value"] for each in container["env"] if each["name"].endswith("TOKENS_FILE")]
    assert tokens.startswith(mount["mountPath"] + "/")
    assert service["spec"]["selector"] == deployment["spec"]["selector"]["matchLabels"]
    assert [each["targetPort"] for each in service["spec"]["ports"]] == [port["containerPort"]]
    pause = int(container["lifecycle"]["preStop"]["exec"]["command"][1])
    longest = pause + ServeRequest(cluster="c").shutdown_timeout + _WRITES_SECONDS
    assert pod["terminationGracePeriodSeconds"] >= longest


def bound_port() -> str:
    [bind] = re.findall(r"OMNIGRAPH_BIND=(\S+)", DOCKERFILE)
    return str(Bind.parse(bind).port)


def test_the_image_starts_the_server_on_the_port_that_it_shows(variables: set[str]) -> None:
    [server] = re.findall(r"^FROM python:\S+ AS server\n(.*?)(?=^FROM )", DOCKERFILE, re.MULTILINE | re.DOTALL)

    assert f"EXPOSE {bound_port()}\n" in server
    assert set(re.findall(r"OMNIGRAPH_[A-Z_]+", server)) <= variables
    assert 'ENTRYPOINT ["omnigraph-server"]' in server
    # A number, because Kubernetes cannot tell from a name that it is not root.
    assert DOCKERFILE.count("USER 1000\n") == DOCKERFILE.count("--uid 1000 ") == 2
    [path] = re.findall(rf"http://127\.0\.0\.1:{bound_port()}(/\w+)", server)
    assert path in PUBLIC


def test_the_image_of_the_server_has_all_that_its_settings_can_ask_for() -> None:
    """pip takes no constraints with hashes, so the image has a lock of its own, with the versions that are tested."""
    [file] = re.findall(r"AS build-server\n.*?--require-hashes -r (\S+)", DOCKERFILE, re.DOTALL)
    pinned, tested, always = (pins(name) for name in (file, "requirements-dev.lock", "requirements.lock"))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]

    assert pinned.items() <= tested.items()
    assert always.items() <= pinned.items()
    for extra in ("server", "ui", "otel", "aws", "mcp"):
        assert {re.split(r"[\[><=~]", name)[0] for name in extras[extra]} <= pinned.keys()
    assert "pyspark" not in pinned


def pins(name: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9_.-]+)==(\S+)", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE))


def test_the_image_is_made_of_nothing_but_what_it_copies() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    copies = re.findall(r"^COPY (?!--from)(.*) \./\S*$", DOCKERFILE, re.MULTILINE)
    copied = {name for names in copies for name in names.split()}

    assert lines[1] == "*"
    assert {line[1:] for line in lines if line.startswith("!")} == copied
    assert copied == {"requirements.lock", "requirements-server.lock", "pyproject.toml", "README.md", "LICENSE", "src"}
    assert all((ROOT / name).exists() for name in copied)


def test_the_proxy_of_the_page_lets_everything_through_that_the_server_takes() -> None:
    """What `test_behind_nginx.py` shows of the same block takes a minute; what it stands on is quick to see."""
    text = block("text nginx.conf")
    general = text.partition("server {\n    listen")[2].partition("location")[0]
    directives = dict(re.findall(r"^ *(\w+) +([^;{]+);", general, re.MULTILINE))

    assert text.count("{") == text.count("}")
    # The server refuses large bodies itself, with a document, and does not read them.
    assert directives["client_max_body_size"] == "0"
    assert (directives["proxy_http_version"], directives["proxy_buffering"]) == ("1.1", "off")
    assert directives["proxy_request_buffering"] == "off"
    assert "non_idempotent" not in directives["proxy_next_upstream"], "a write is never sent twice"
    # With a path behind the upstream nginx would decode what was escaped.
    upstreams = set(re.findall(r"^upstream (\w+) \{", text, re.MULTILINE))
    assert set(re.findall(r"proxy_pass http://([^;]+);", text)) == upstreams
    assert set(re.findall(r"server 127\.0\.0\.1:(\d+) max_fails=0;", text)) == {bound_port(), "8081"}


def test_the_table_of_flags_is_that_of_the_command() -> None:
    from omnigraph.cli.app import build_app

    rows = dict(re.findall(r"^\| `(--[a-z-]+)` \| `(OMNIGRAPH_[A-Z_]+)`", PAGE, re.MULTILINE))
    command = build_app().get_command(None, "serve")
    flags = {option for parameter in command.params for option in parameter.opts if option.startswith("--")}

    assert set(rows) <= flags
    assert len(rows) == 9
