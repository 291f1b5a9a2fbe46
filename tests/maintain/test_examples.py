"""The files under `examples/maintenance`: the command in each of them runs, on a cluster like the one it names."""

import json
import shlex
from pathlib import Path

import pytest
import yaml

from omnigraph.cluster.maintenance_settings import parse_maintenance
from support.museum import museum

pytestmark = pytest.mark.usefixtures("workplace")
ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "maintenance"
PAGE = ROOT / "docs" / "operations" / "maintain.md"


def command_of(name: str) -> list[str]:
    """Return the words after `omnigraph` of the command in a file, without what a shell does to its output."""
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    if name.endswith(".yaml"):
        pod = yaml.safe_load(text)["spec"]["jobTemplate"]["spec"]["template"]["spec"]
        container = pod["containers"][0]
        return [*container["command"][1:], *container["args"]]
    line = next(line for line in text.splitlines() if "omnigraph maintain" in line and not line.startswith("#"))
    words = shlex.split(line.partition(" > ")[0])
    return words[next(place for place, word in enumerate(words) if word.endswith("omnigraph")) + 1 :]


@pytest.mark.parametrize("name", ["omnigraph-maintain.service", "crontab", "cronjob.yaml"])
def test_the_command_of_an_example_maintains_a_cluster(name, workplace, run):
    museum(str(workplace / "museum"), ["art"], due=["art"])
    words = command_of(name)
    here = {
        "/srv/museum": "museum",
        "s3://museum-data/clusters/main": "museum",
        "/etc/omnigraph/maintenance.yaml": str(EXAMPLES / "maintenance.yaml"),
    }
    line = [here.get(word, word) for word in words]
    if "--every" in line:
        # Once is enough to see that it runs; the rhythm has its own tests.
        del line[line.index("--every") : line.index("--every") + 2]

    ran = run(*line)
    journal = run("maintain", "--cluster", "museum", "--journal", "--json").document

    assert line[0] == "maintain"
    assert set(here) & set(words)
    assert ran.code == 0, ran.err
    assert [len(run["graphs"]) for run in journal["runs"]] == [1]


def test_the_page_shows_what_the_examples_say():
    page = PAGE.read_text(encoding="utf-8")

    for name in ("omnigraph-maintain.service", "crontab"):
        assert shlex.join(command_of(name)) in page
    for name in EXAMPLES.iterdir():
        if name.name != "maintenance.yaml":
            assert f"examples/maintenance/{name.name}" in page


def test_the_settings_of_the_page_and_of_the_example_are_right():
    page = PAGE.read_text(encoding="utf-8")
    shown = page.partition("```yaml\n")[2].partition("```")[0]
    example = (EXAMPLES / "maintenance.yaml").read_text(encoding="utf-8")

    for text in (shown, example):
        section = yaml.safe_load(text)["maintenance"]
        settings, problems = parse_maintenance(section, ["artworks", "scratch"])
        assert problems == ()
        assert settings.default.cleanup is not None, json.dumps(section)
