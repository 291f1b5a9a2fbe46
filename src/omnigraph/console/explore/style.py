"""How the page looks beyond what all pages share."""

EXPLORE_STYLE = """
.og-explore { display: grid; grid-template-columns: minmax(0, 1fr) 340px; gap: 16px; align-items: start; }
.og-finder { display: grid; grid-template-columns: minmax(0, 1fr) 180px 150px auto; gap: 10px; align-items: center; }
.og-canvas { width: 100%; height: min(560px, 68vh); }
.og-hits { max-height: 300px; overflow-y: auto; margin-top: 8px; }
.og-hit { display: flex; gap: 10px; align-items: baseline; padding: 6px 4px; border-bottom: 1px solid var(--line); }
.og-hit > .og-plain { flex: 0 1 auto; }
.og-plain { background: none; border: 0; padding: 2px 4px; margin: 0; font: inherit; color: var(--accent);
  cursor: pointer; text-align: left; overflow-wrap: anywhere; min-height: 28px; }
.og-plain:hover { text-decoration: underline; }
.og-sign { width: 14px; height: 14px; flex: 0 0 14px; vertical-align: -2px; }
.og-legend { display: flex; flex-wrap: wrap; gap: 4px 10px; align-items: center; }
.og-legend button { display: inline-flex; gap: 6px; align-items: center; border: 1px solid var(--line);
  border-radius: 999px; padding: 3px 11px; background: none; color: var(--ink); font: inherit; font-size: 13px;
  cursor: pointer; min-height: 28px; }
.og-legend button[aria-pressed=false] { text-decoration: line-through; color: var(--soft); }
.og-value { overflow-wrap: anywhere; white-space: pre-wrap; }
.og-explore details > summary { cursor: pointer; overflow-wrap: anywhere; }
.og-ways { display: grid; grid-template-columns: minmax(0, 1fr) auto auto; gap: 4px 8px; align-items: center; }
.og-time { display: grid; grid-template-columns: auto minmax(0, 1fr) auto; gap: 8px; align-items: center; }
.og-names { columns: 170px; column-gap: 12px; }
.body--dark .og-main .q-btn.text-primary { color: var(--accent) !important; }
.body--dark .og-main .q-slider { color: var(--accent) !important; }
@media (max-width: 900px) {
  .og-explore { grid-template-columns: minmax(0, 1fr); }
  .og-finder { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); }
  .og-finder > :first-child { grid-column: 1 / -1; }
  .og-canvas { height: 56vh; }
}
"""
