"""How the health page looks: light and dark, wide and as narrow as a telephone."""

STYLE = """
:root { color-scheme: light dark; --ink: #1d2433; --soft: #5d6779; --line: #e3e7ee; --page: #f6f7fa; --card: #fff;
  --good: #2f9e6e; --warn: #b8700f; --bad: #d1493f; --data: #4c6fd7; --old: #b9c3d6; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9f0; --soft: #98a2b5; --line: #2c3342; --page: #12151c;
  --card: #1a1f2a; --good: #4cc38a; --warn: #e5a54b; --bad: #e5675d; --data: #7d9bf0; --old: #46506a; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 32px 20px 64px; }
h1 { font-size: 22px; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 16px; margin: 32px 0 12px; }
h3 { font-size: 14px; margin: 18px 0 8px; }
h3:first-child { margin-top: 0; }
p { margin: 4px 0; overflow-wrap: anywhere; }
.soft { color: var(--soft); }
.note { color: var(--soft); font-size: 13px; margin: 10px 0 0; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 18px 20px; }
.status { margin-top: 14px; display: flex; flex-wrap: wrap; gap: 4px 16px; align-items: center;
  border-left: 6px solid var(--tone); }
.status strong { font-size: 20px; color: var(--tone); }
.healthy { --tone: var(--good); } .attention { --tone: var(--warn); } .action { --tone: var(--bad); }
.info { --tone: var(--soft); }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(118px, 1fr)); gap: 12px; margin-top: 12px; }
.figure { padding: 12px 14px; }
.figure b { display: block; font-size: 18px; white-space: nowrap; font-variant-numeric: tabular-nums; }
.finding { display: grid; grid-template-columns: 92px minmax(0, 1fr); gap: 4px 14px; padding: 12px 0;
  border-top: 1px solid var(--line); }
.finding:first-child { border-top: 0; padding-top: 0; }
.finding:last-child { padding-bottom: 0; }
.badge { justify-self: start; align-self: start; padding: 1px 10px; border-radius: 999px; font-size: 12px;
  border: 1px solid var(--tone); color: var(--tone); }
code { font: 13px/1.5 ui-monospace, monospace; background: var(--page); border: 1px solid var(--line);
  border-radius: 6px; padding: 2px 8px; overflow-wrap: anywhere; box-decoration-break: clone;
  -webkit-box-decoration-break: clone; }
details { margin-top: 8px; }
summary { cursor: pointer; color: var(--soft); }
.names { columns: 3 220px; font-size: 13px; margin: 8px 0 0; padding: 0; list-style: none; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 8px 10px; border-top: 1px solid var(--line); white-space: nowrap; }
th { border-top: 0; color: var(--soft); font-weight: 500; font-size: 13px; }
th:first-child, td:first-child { text-align: left; white-space: normal; overflow-wrap: anywhere; min-width: 110px; }
tr td:first-child { border-left: 4px solid var(--tone, transparent); }
table.words th, table.words td { text-align: left; white-space: normal; }
.bar { display: grid; grid-template-columns: minmax(110px, 220px) minmax(0, 1fr) 150px; gap: 2px 14px;
  align-items: center; padding: 4px 0; font-size: 13px; }
.bar .name { text-align: right; overflow-wrap: anywhere; }
.bar .says { color: var(--soft); font-variant-numeric: tabular-nums; }
.track { display: flex; height: 14px; border-radius: 4px; background: var(--line); overflow: hidden; }
.track i { height: 100%; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; font-size: 13px; color: var(--soft); margin-bottom: 8px; }
.legend i { display: inline-block; width: 11px; height: 11px; border-radius: 3px; margin-right: 6px; }
@media (max-width: 640px) {
  main { padding: 20px 12px 48px; }
  h1 { font-size: 18px; }
  .card { padding: 14px; }
  .wide { display: none; }
  th, td { padding: 7px 5px; font-size: 13px; }
  th { font-size: 12px; }
  .finding { grid-template-columns: minmax(0, 1fr); }
  .bar { grid-template-columns: minmax(0, 1fr) auto; }
  .bar .name { text-align: left; }
  .bar .track { grid-column: 1 / -1; grid-row: 2; height: 10px; }
}
"""
