"""What the pages and the Dockerfile tell an operator is true of the program: flags, variables, ports and paths."""

import re
from pathlib import Path

import pytest
import yaml

from omnigraph.server.routes import ROUTES
from omnigraph.server.running import _WRITES_SECONDS
from omnigraph.server.settings import LOAD_BODY_BYTES_MAX, Bind, ServeRequest

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
    deployment = yaml.safe_load(block("yaml"))
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
    longest = ServeRequest(cluster="c").shutdown_timeout + _WRITES_SECONDS
    assert pod["terminationGracePeriodSeconds"] >= longest


def bound_port() -> str:
    [bind] = re.findall(r"OMNIGRAPH_BIND=(\S+)", DOCKERFILE)
    return str(Bind.parse(bind).port)


def test_the_image_starts_the_server_on_the_port_that_it_shows(variables: set[str]) -> None:
    server = re.split(r"^FROM .* AS ", DOCKERFILE, flags=re.MULTILINE)[3]

    assert server.startswith("server\n")
    assert f"EXPOSE {bound_port()}\n" in server
    assert set(re.findall(r"OMNIGRAPH_[A-Z_]+", server)) <= variables
    assert 'ENTRYPOINT ["omnigraph-server"]' in server
    assert re.search(r"^USER omnigraph$", server, re.MULTILINE)
    [path] = re.findall(rf"http://127\.0\.0\.1:{bound_port()}(/\w+)", server)
    assert path in PUBLIC
    packages = re.findall(r"pip install --no-cache-dir -c requirements-dev.lock \\\n +(.*)", DOCKERFILE)[0].split()
    extras = (ROOT / "pyproject.toml").read_text(encoding="utf-8").partition("\nserver = [")[2].partition("]")[0]
    assert {re.split(r"[\[><=~]", name)[0] for name in re.findall(r'"([^"]+)"', extras)} <= set(packages)


def test_the_proxy_of_the_page_lets_everything_through_that_the_server_takes() -> None:
    text = block("text nginx.conf")
    directives = dict(re.findall(r"^ *(\w+) ([^;{]+);", text, re.MULTILINE))

    assert text.count("{") == text.count("}")
    assert directives["proxy_pass"] == "http://omnigraph"
    assert re.search(r"^upstream omnigraph \{", text, re.MULTILINE)
    size, unit = re.fullmatch(r"(\d+)(m)", directives["client_max_body_size"]).groups()
    assert unit == "m"
    assert int(size) << 20 > LOAD_BODY_BYTES_MAX
    assert (directives["proxy_http_version"], directives["proxy_buffering"]) == ("1.1", "off")
    assert directives["proxy_request_buffering"] == "off"
    # With a path behind the upstream nginx would decode what was escaped.
    assert not directives["proxy_pass"].removeprefix("http://omnigraph")
    ports = re.findall(r"server 127\.0\.0\.1:(\d+);", text)
    assert ports[0] == bound_port()


def test_the_table_of_flags_is_that_of_the_command() -> None:
    from omnigraph.cli.app import build_app

    rows = dict(re.findall(r"^\| `(--[a-z-]+)` \| `(OMNIGRAPH_[A-Z_]+)`", PAGE, re.MULTILINE))
    command = build_app().get_command(None, "serve")
    flags = {option for parameter in command.params for option in parameter.opts if option.startswith("--")}

    assert set(rows) <= flags
    assert len(rows) == 9
