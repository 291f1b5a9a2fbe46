"""How the Query page looks, beyond what all pages share."""

QUERY_STYLE = """
.og-ask { display: grid; grid-template-columns: minmax(0, 1fr); gap: 16px; align-items: start; }
.og-ask-beside { grid-template-columns: minmax(0, 1fr) 290px; }
.og-stack { display: flex; flex-direction: column; gap: 12px; min-width: 0; }
.og-stack > div:empty { display: none; }
.og-editor { height: auto !important; width: 100%; border: 1px solid var(--line); border-radius: 8px;
  background: var(--page); overflow: hidden; }
.og-editor:focus-within { border-color: var(--accent); box-shadow: 0 0 0 1px var(--accent); }
.og-editor .cm-editor { background: transparent !important; color: var(--ink) !important; outline: none !important;
  min-height: 132px; max-height: 46vh; font-size: 14px; }
.og-editor .cm-content { caret-color: var(--ink) !important; padding: 8px 0; }
.og-editor .cm-cursor { border-left-color: var(--ink) !important; }
.og-editor .cm-gutters { background: transparent !important; color: var(--soft) !important; border: 0 !important; }
.og-editor .cm-activeLine, .og-editor .cm-activeLineGutter { background: var(--hover) !important; }
.og-editor .cm-selectionBackground { background: rgba(86, 140, 220, 0.35) !important; }
.cm-tooltip { background: var(--card) !important; color: var(--ink) !important; border-radius: 6px;
  border: 1px solid var(--line) !important; }
.cm-tooltip-autocomplete li[aria-selected] { background: var(--accent) !important; color: var(--on-accent) !important; }
.cm-tooltip-autocomplete li[aria-selected] .cm-completionDetail { color: var(--on-accent) !important; }
.cm-completionDetail { color: var(--soft); font-style: normal !important; }
.og-gq-keyword { color: #8a2f86; font-weight: 600; } .body--dark .og-gq-keyword { color: #d9a2e8; }
.og-gq-type { color: #0b5cad; } .body--dark .og-gq-type { color: #7db4f5; }
.og-gq-variable { color: #8a5300; } .body--dark .og-gq-variable { color: #e5a54b; }
.og-gq-string { color: #1b6b4a; } .body--dark .og-gq-string { color: #7fd0a8; }
.og-gq-number { color: #9a3412; } .body--dark .og-gq-number { color: #f0a17c; }
.og-gq-comment { color: var(--soft); font-style: italic; }
.og-gq-bad { color: var(--bad); }
.og-gq-wrong { text-decoration: underline wavy var(--bad); text-underline-offset: 3px; text-decoration-skip-ink: none; }
.og-problem { color: var(--bad); font-size: 14px; overflow-wrap: anywhere; white-space: pre-wrap; }
.og-fields { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 220px), 1fr)); gap: 8px 12px; }
.og-line { display: flex; gap: 8px; align-items: center; border: 1px solid var(--line); border-radius: 8px;
  padding: 4px 4px 4px 10px; background: var(--page); min-width: 0; }
.og-line code { font: 13px/1.5 ui-monospace, monospace; overflow-x: auto; white-space: pre; flex: 1; min-width: 0;
  padding: 4px 0; max-height: 92px; overflow-y: auto; }
.og-stored { display: flex; flex-direction: column; gap: 2px; }
.og-stored a { display: block; padding: 7px 10px; border-radius: 8px; text-decoration: none; color: var(--ink);
  overflow-wrap: anywhere; }
.og-stored a:hover { background: var(--hover); }
.og-stored a[aria-current] { background: var(--hover); box-shadow: inset 3px 0 var(--accent); }
.og-stored b { font-weight: 600; color: var(--accent); }
.og-grid { --ag-background-color: var(--card); --ag-foreground-color: var(--ink); --ag-border-color: var(--line);
  --ag-header-background-color: var(--page); --ag-font-family: inherit;
  --ag-header-text-color: var(--soft); width: 100%; }
.og-null::before { content: "null"; color: var(--soft); font-style: italic; }
.og-drawn { width: 100%; height: min(62vh, 520px); }
.og-drawn svg text { fill: var(--ink); }
.og-sign { width: 14px; height: 14px; }
.og-bar { height: 8px; border-radius: 4px; background: var(--accent); min-width: 2px; }
.og-step { font: 13px/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
@media (max-width: 900px) { .og-ask-beside { grid-template-columns: minmax(0, 1fr); } }
"""
