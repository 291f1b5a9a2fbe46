"""How the History page looks."""

HISTORY_STYLE = """
.og-came { color: var(--came); } .og-went { color: var(--went); } .og-became { color: var(--warn); }
.og-log { display: flex; flex-direction: column; }
.og-commit { display: flex; align-items: stretch; position: relative; height: 46px; border-radius: 8px; }
.og-commit:hover, .og-commit:focus-within { background: var(--hover); }
.og-commit[aria-current] { background: var(--hover); }
.og-lanes { position: relative; flex: none; height: 100%; }
.og-lanes svg { position: absolute; inset: 0; width: 100%; height: 100%; overflow: visible; }
.og-lanes path { fill: none; stroke-width: 2; vector-effect: non-scaling-stroke; }
.og-knot { position: absolute; top: 50%; width: 12px; height: 12px; margin: -8px 0 0 -8px; border-radius: 50%;
  border: 2px solid var(--card); box-sizing: content-box; }
.og-knot-merge { background: var(--card) !important; border-width: 3px; width: 8px; height: 8px;
  margin: -7px 0 0 -7px; }
.og-said { flex: 1; min-width: 0; display: flex; align-items: center; gap: 10px; padding: 0 10px 0 6px; }
.og-said > .og-what { flex: 1 1 auto; min-width: 0; display: flex; align-items: center; gap: 8px; }
.og-what a { color: var(--ink); text-decoration: none; overflow: hidden; text-overflow: ellipsis; white-space: nowrap;
  min-width: 40px; }
.og-what a.og-absent { color: var(--soft); }
.og-what a::after { content: ""; position: absolute; inset: 0; border-radius: 8px; }
.og-what a:focus-visible { outline: none; } .og-what a:focus-visible::after { outline: 3px solid var(--accent); }
.og-tip { flex: none; max-width: 180px; overflow: hidden; text-overflow: ellipsis; padding: 0 9px; border-radius: 6px;
  font-size: 12px; line-height: 20px; white-space: nowrap; background: var(--hover); color: var(--ink);
  border-left: 4px solid var(--soft); }
.og-facts { display: grid; grid-template-columns: 112px 130px 84px 104px; align-items: center; gap: 12px; flex: none;
  white-space: nowrap; }
.og-facts > .og-badge { justify-self: start; }
.og-facts > * { overflow: hidden; text-overflow: ellipsis; }
.og-moment { text-align: right; position: relative; z-index: 1; }
.og-list { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 6px 18px; margin: 0; }
.og-list dt { color: var(--soft); } .og-list dd { margin: 0; min-width: 0; overflow-wrap: anywhere; }
.og-change { padding: 10px 0; border-bottom: 1px solid var(--line); display: grid;
  grid-template-columns: 108px minmax(0, 1fr); gap: 4px 12px; }
.og-change:last-child { border-bottom: 0; }
.og-change-word { font-weight: 600; display: flex; gap: 8px; }
.og-change-word > :first-child { width: 12px; text-align: center; }
.og-change-name { display: flex; flex-wrap: wrap; gap: 2px 8px; overflow-wrap: anywhere; }
.og-change-name > * { min-width: 0; overflow-wrap: anywhere; }
.og-properties { grid-column: 2; display: grid; grid-template-columns: minmax(70px, max-content) minmax(0, 1fr);
  gap: 2px 14px; font-size: 14px; }
.og-properties > * { min-width: 0; }
.og-values { display: flex; flex-wrap: wrap; gap: 2px 8px; min-width: 0; }
.og-values > * { min-width: 0; max-width: 100%; }
.og-value { overflow-wrap: anywhere; white-space: pre-wrap; }
.og-absent { color: var(--soft); font-style: italic; }
.og-value-old { color: var(--soft); text-decoration: line-through; text-decoration-thickness: 1px; }
details.og-fold > summary { cursor: pointer; overflow-wrap: anywhere; }
details.og-fold > summary > div { display: inline; }
.og-conflict { border: 1px solid var(--line); border-left: 5px solid var(--warn); border-radius: 8px;
  padding: 12px 14px; margin-top: 12px; }
.og-sides { width: 100%; border-collapse: collapse; margin: 10px 0 4px; table-layout: fixed; }
.og-sides th { text-align: left; font-weight: 500; font-size: 13px; color: var(--soft); }
.og-sides th, .og-sides td { padding: 5px 8px; border-bottom: 1px solid var(--line); vertical-align: top;
  overflow-wrap: anywhere; }
.og-sides tr.og-open td { background: var(--hover); }
.og-pick { display: flex; flex-wrap: wrap; gap: 10px; align-items: end; }
.og-pick .q-field { min-width: 150px; flex: 0 1 220px; }
.og-note { border-left: 4px solid var(--accent); padding: 4px 0 4px 12px; }
.og-counts { display: flex; flex-wrap: wrap; gap: 4px 18px; font-variant-numeric: tabular-nums; font-weight: 600; }
@media (max-width: 760px) {
  .og-commit { height: 66px; }
  .og-said { flex-direction: column; align-items: stretch; justify-content: center; gap: 2px; padding-right: 4px; }
  .og-said > .og-what { flex: none; }
  .og-facts { display: flex; gap: 10px; font-size: 12px; overflow: hidden; flex: none; }
  .og-facts > .og-badge { flex: none; } .og-facts > .og-actor { max-width: 84px; }
  .og-facts > .og-actor:empty { display: none; }
  .og-facts > .og-moment, .og-facts > .og-mono { flex: none; }
  .og-tip { max-width: 110px; }
  .og-change { grid-template-columns: minmax(0, 1fr); }
  .og-properties { grid-column: 1; grid-template-columns: minmax(0, 1fr); }
  .og-properties > .og-values { padding-left: 12px; margin-bottom: 4px; }
  .og-list { grid-template-columns: minmax(0, 1fr); gap: 0; } .og-list dd { margin-bottom: 8px; }
  .og-sides, .og-sides tbody, .og-sides tr, .og-sides td { display: block; width: 100%; }
  .og-sides thead { position: absolute; left: -9999px; }
  .og-sides td { border-bottom: 0; padding: 2px 8px; display: flex; gap: 8px; }
  .og-sides td::before { content: attr(data-side); color: var(--soft); font-size: 12px; flex: 0 0 84px;
    overflow: hidden; text-overflow: ellipsis; }
  .og-sides tr { border-bottom: 1px solid var(--line); padding: 6px 0; }
}
"""
