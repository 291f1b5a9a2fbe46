"""The operation pairs of a merge as a table, printed at the end of a run that touched them."""

from dataclasses import dataclass, field

import pytest

from support.merge_pairs import CELLS, OPERATIONS

_TEST = "test_a_pair_of_operations_merges_as_the_table_says["


@dataclass(kw_only=True, eq=False)
class MergeReport:
    """Collects which cells hold."""

    holds: dict[str, bool] = field(default_factory=dict)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if _TEST in report.nodeid and (report.when == "call" or report.failed):
            self.holds[report.nodeid.partition(_TEST)[2].removesuffix("]")] = report.passed

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.holds:
            return
        failures = sum(not holds for holds in self.holds.values())
        terminalreporter.write_line(f"merge matrix: {len(self.holds)} of {len(CELLS)} cells, {failures} failures")
        width = max(map(len, OPERATIONS)) + 2
        terminalreporter.write_line("source ╲ target".ljust(width) + "".join(name.ljust(width) for name in OPERATIONS))
        for left in OPERATIONS:
            cells = [self._cell(left, right).ljust(width) for right in OPERATIONS]
            terminalreporter.write_line(left.ljust(width) + "".join(cells))

    def _cell(self, left: str, right: str) -> str:
        found = [cell for cell in CELLS if (cell.left, cell.right) == (left, right) and cell.id in self.holds]
        return " / ".join(cell.spelled if self.holds[cell.id] else "FAILED" for cell in found)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(MergeReport(), "merge-report")
