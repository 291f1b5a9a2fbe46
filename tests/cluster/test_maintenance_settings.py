"""The `maintenance:` section: what it may say, the key path of what is wrong, and hours in which nothing happens."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.base.plain_text import read_yaml
from omnigraph.cluster.config import read_config
from omnigraph.cluster.diagnostics import Diagnostics
from omnigraph.cluster.maintenance_settings import MaintenanceSettings, parse_maintenance
from omnigraph.engine.choice import EngineName
from omnigraph.maintenance.cleanup.policy import CleanupPolicy
from omnigraph.maintenance.maintain.quiet_hours import QuietHours, QuietSpan, read_spans
from omnigraph.maintenance.maintain.settings import GraphSettings

GRAPHS = ("artworks", "scratch")

WHOLE = """
optimize: { fragments: 4, deleted_ratio: 0.2, coverage: 0.9, internal_fragments: 80, branches: main }
cleanup: { keep: 20, older_than: 14d, reclaimable: 1GiB, share: 0.25 }
quiet_hours: ["mon-fri 08:00-18:00"]
timezone: Europe/Berlin
max_time: 30m
max_bytes: 100GiB
engine: local
graphs:
  artworks:
    cleanup: { keep: 100 }
    quiet_hours: []
  scratch:
    enabled: false
    optimize: false
"""


def read(text: str) -> tuple[MaintenanceSettings, dict[str, str]]:
    settings, problems = parse_maintenance(read_yaml(text), GRAPHS)
    return settings, {problem.path: problem.message for problem in problems}


def test_what_a_graph_says_stands_in_the_place_of_what_goes_for_all_key_by_key():
    settings, problems = read(WHOLE)
    artworks, scratch, other = (settings.of(name) for name in ("artworks", "scratch", "other"))

    assert problems == {}
    assert other == settings.default
    assert other.cleanup is not None
    assert other.optimize is not None
    assert (other.optimize.fragments, other.optimize.all_branches) == (4, False)
    assert other.cleanup.policy == CleanupPolicy(keep_versions=20, older_than=timedelta(days=14))
    assert (other.cleanup.reclaimable, other.max_bytes) == (1 << 30, 100 << 30)
    assert (other.max_time, other.engine) == (timedelta(minutes=30), EngineName.LOCAL)
    assert other.quiet_hours.timezone == "Europe/Berlin"
    assert artworks.cleanup is not None
    assert artworks.cleanup.policy == CleanupPolicy(keep_versions=100, older_than=timedelta(days=14))
    assert artworks.quiet_hours.spans == ()
    assert artworks.max_time == other.max_time
    assert (scratch.enabled, scratch.optimize) == (False, None)


def test_without_a_section_everything_is_at_its_default_and_nothing_is_removed():
    settings, problems = read("")

    assert (settings.of("artworks"), problems) == (GraphSettings(), {})
    assert settings.of("artworks").cleanup is None


def test_cleanup_that_is_only_switched_on_keeps_ten_versions_and_a_week():
    settings, problems = read("cleanup: true")

    assert problems == {}
    assert settings.default.cleanup is not None
    assert settings.default.cleanup.policy == CleanupPolicy(keep_versions=10, older_than=timedelta(days=7))


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        ("fragmnts: 3", "maintenance.fragmnts", "unknown key"),
        ("quiet_hour: []", "maintenance.quiet_hour", "did you mean `quiet_hours`?"),
        ("optimize: { fragment: 3 }", "maintenance.optimize.fragment", "did you mean `fragments`?"),
        ("cleanup: { keep: 0 }", "maintenance.cleanup.keep", "at least 1, not 0"),
        ("cleanup: { keep: yes }", "maintenance.cleanup.keep", "at least 1, not True"),
        ("cleanup: { older_than: 7 }", "maintenance.cleanup.older_than", "with its unit, such as 7d, not 7"),
        ("cleanup: { older_than: '7' }", "maintenance.cleanup.older_than", "has no unit"),
        ("cleanup:", "maintenance.cleanup", "not nothing"),
        ("max_time: 0s", "maintenance.max_time", "longer than nothing"),
        ("max_bytes: lots", "maintenance.max_bytes", "is not a size"),
        ("engine: ray", "maintenance.engine", "one of auto, local, spark"),
        ("enabled: 1", "maintenance.enabled", "true or false"),
        ("timezone: Mars/Olympus", "maintenance.timezone", "the name of a time zone"),
        ("quiet_hours: ['8-18']", "maintenance.quiet_hours", "is no span of hours"),
        ("quiet_hours: ['mon-fry 08:00-18:00']", "maintenance.quiet_hours", "'fry' is no day"),
        ("quiet_hours: ['08:00-25:00']", "maintenance.quiet_hours", "no time of a day"),
        ("optimize: { branches: dev }", "maintenance.optimize.branches", "`main` for main alone"),
        ("[1, 2]", "maintenance", "must be a mapping"),
        ("graphs: { artwork: {} }", "maintenance.graphs.artwork", "did you mean `artworks`?"),
        ("graphs: { zoo: {} }", "maintenance.graphs.zoo", "there are artworks, scratch"),
        ("graphs: { scratch: { graphs: {} } }", "maintenance.graphs.scratch.graphs", "unknown key"),
        ("graphs: { scratch: { cleanup: { keep: x } } }", "maintenance.graphs.scratch.cleanup.keep", "not 'x'"),
    ],
)
def test_what_is_wrong_is_told_with_its_key_path(text, path, message):
    _, problems = read(text)

    assert list(problems) == [path]
    assert message in problems[path]


def test_what_is_wrong_for_all_graphs_is_told_once():
    _, problems = read("max_time: soon\ngraphs: { artworks: {}, scratch: { engine: ray } }")

    assert set(problems) == {"maintenance.max_time", "maintenance.graphs.scratch.engine"}


def test_the_whole_config_is_read_with_it_and_problems_have_their_code(tmp_path):
    graphs = "graphs: { artworks: { schema: art.pg } }"
    tmp_path.joinpath("art.pg").write_text("node Artist { name: String @key }\n", encoding="utf-8")
    config = tmp_path / "cluster.yaml"
    found = Diagnostics()
    config.write_text(f"version: 1\n{graphs}\nmaintenance: {{ max_time: 5, graphs: {{ art: {{}} }} }}\n", "utf-8")

    read_config(str(tmp_path), found)
    config.write_text(f"version: 1\n{graphs}\nmaintenance: {{ max_time: 5m }}\n", "utf-8")
    right = Diagnostics()
    declared = read_config(str(tmp_path), right)

    assert [(finding.code, finding.path) for finding in found.all()] == [
        ("invalid_maintenance_settings", "maintenance.max_time"),
        ("invalid_maintenance_settings", "maintenance.graphs.art"),
    ]
    assert declared is not None
    assert right.all() == ()


yaml_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12) | st.integers(), inner, max_size=3)
    ),
    max_leaves=8,
)
known_keys = st.sampled_from(
    ["enabled", "optimize", "cleanup", "quiet_hours", "timezone", "max_time", "max_bytes", "engine", "graphs", "keep"]
)


@given(st.dictionaries(known_keys | st.text(max_size=6), yaml_values, max_size=5) | yaml_values)
def test_whatever_a_section_says_is_read_or_told_of(section):
    """Nothing escapes as an exception, and every problem names a path below the section."""
    settings, problems = parse_maintenance(section, GRAPHS)

    assert isinstance(settings.default, GraphSettings)
    assert all(problem.path.startswith("maintenance") and problem.message.endswith((".", "?")) for problem in problems)


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1_000_000)


def hours(*spans: str, timezone: str = "UTC") -> QuietHours:
    return QuietHours(spans=read_spans(spans), timezone=timezone)


@pytest.mark.parametrize(
    ("spans", "now", "until"),
    [
        (("08:00-18:00",), "2026-03-04T07:59:59", None),
        (("08:00-18:00",), "2026-03-04T08:00:00", "2026-03-04T18:00:00"),
        (("08:00-18:00",), "2026-03-04T18:00:00", None),
        (("22:00-06:00",), "2026-03-04T23:30:00", "2026-03-05T06:00:00"),
        (("22:00-06:00",), "2026-03-05T05:59:00", "2026-03-05T06:00:00"),
        (("fri 22:00-06:00",), "2026-03-07T05:00:00", "2026-03-07T06:00:00"),
        (("fri 22:00-06:00",), "2026-03-06T05:00:00", None),
        (("sat-mon 00:00-24:00",), "2026-03-07T12:00:00", "2026-03-10T00:00:00"),
        (("mon,wed 08:00-09:00",), "2026-03-04T08:30:00", "2026-03-04T09:00:00"),
        (("08:00-12:00", "12:00-13:00", "12:30-14:00"), "2026-03-04T11:00:00", "2026-03-04T14:00:00"),
        ((), "2026-03-04T11:00:00", None),
    ],
)
def test_quiet_lasts_until_no_span_takes_over(spans, now, until):
    found = hours(*spans).until(at(now))

    assert found == (None if until is None else datetime.fromisoformat(until).replace(tzinfo=UTC))


def test_quiet_hours_follow_the_clocks_of_their_place_through_the_change_of_time():
    """On 29 March 2026 clocks in Berlin go from 2 to 3: nine o'clock is 8:00 UTC before and 7:00 UTC after it."""
    berlin = hours("09:00-10:00", timezone="Europe/Berlin")

    assert berlin.until(at("2026-03-28T08:30:00")) is not None
    assert berlin.until(at("2026-03-30T07:30:00")) is not None
    assert berlin.until(at("2026-03-30T08:30:00")) is None


@given(
    st.lists(
        st.builds(
            QuietSpan,
            days=st.lists(st.integers(0, 6), min_size=1, max_size=7, unique=True).map(lambda days: tuple(sorted(days))),
            begin_minute=st.integers(0, 1439),
            end_minute=st.integers(0, 1440),
        ),
        max_size=3,
    ),
    st.integers(0, 14 * 24 * 60),
)
def test_a_minute_is_quiet_exactly_when_some_span_of_the_week_holds_it(spans, minute):
    """Compared with a list of all minutes of a week, where a span that passes Sunday midnight goes on on Monday."""
    monday = at("2026-03-02T00:00:00")
    quiet = {
        (day * 1440 + span.begin_minute + passed) % (7 * 1440)
        for span in spans
        for day in span.days
        for passed in range(span.minutes)
    }

    until = QuietHours(spans=tuple(spans)).until(monday + minute * 60_000_000)

    assert (until is not None) == (minute % (7 * 1440) in quiet)
