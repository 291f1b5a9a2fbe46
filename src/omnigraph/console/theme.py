"""How the console looks: light and dark, wide and as narrow as a telephone; every pair of colours meets WCAG AA."""

from omnigraph.drawing import signs

TYPE_COLOURS = signs.TYPE_COLOURS

LIGHT = """--ink: #1d2433; --soft: #566074; --line: #dfe4ec; --page: #f6f7fa; --card: #ffffff; --accent: #0b5cad;
  --on-accent: #ffffff; --good: #1b7a53; --warn: #8a5300; --bad: #b3261e; --came: #1b7a53; --went: #b3261e;
  --hover: #eef2f8;"""
DARK = """--ink: #e6e9f0; --soft: #a3adbf; --line: #2c3342; --page: #12151c; --card: #1a1f2a; --accent: #7db4f5;
  --on-accent: #0b1220; --good: #4cc38a; --warn: #e5a54b; --bad: #f28b82; --came: #4cc38a; --went: #f28b82;
  --hover: #232a38;"""

STYLE = (
    ":root { color-scheme: light; "
    + LIGHT
    + " } .body--dark { color-scheme: dark; "
    + DARK
    + """ }
* { box-sizing: border-box; }
body { background: var(--page) !important; color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
.nicegui-content { padding: 0; display: block; }
a { color: var(--accent); }
h1 { font-size: 20px; line-height: 1.3; margin: 0; font-weight: 650; }
h2 { font-size: 15px; line-height: 1.3; margin: 0 0 8px; font-weight: 650; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
.og-skip { position: absolute; left: -9999px; } .og-skip:focus { left: 8px; top: 8px; z-index: 9999;
  background: var(--card); padding: 8px; }
.og-header { display: flex; flex-wrap: wrap; gap: 8px 14px; align-items: center; padding: 8px 18px;
  background: var(--card); border-bottom: 1px solid var(--line); position: sticky; top: 0; z-index: 20; }
.og-brand { font-weight: 700; color: var(--ink); text-decoration: none; }
.og-nav { display: flex; gap: 2px; }
.og-nav a { padding: 6px 12px; border-radius: 8px; color: var(--soft); text-decoration: none; }
.og-nav a:hover { background: var(--hover); }
.og-nav a[aria-current] { color: var(--accent); background: var(--hover); font-weight: 600; }
.og-spread { flex: 1; }
.og-main { max-width: 1240px; margin: 0 auto; padding: 20px 18px 64px; display: flex; flex-direction: column;
  gap: 16px; }
.og-card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 16px 18px;
  width: 100%; min-width: 0; }
.og-stack { display: flex; flex-direction: column; gap: 16px; min-width: 0; }
.og-row { display: flex; flex-wrap: wrap; gap: 8px 12px; align-items: center; }
.og-columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 380px), 1fr)); gap: 16px; }
.og-figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(110px, 1fr)); gap: 12px; }
.og-figure b { display: block; font-size: 19px; font-variant-numeric: tabular-nums; }
.og-soft { color: var(--soft); } .og-small { font-size: 13px; }
.og-good { color: var(--good); } .og-warn { color: var(--warn); } .og-bad { color: var(--bad); }
.og-mono, .og-mono input { font-family: ui-monospace, monospace; font-size: 13px; }
.og-wrap { overflow-wrap: anywhere; }
.og-empty { text-align: center; padding: 32px 12px; color: var(--soft); }
.og-failure { border-left: 5px solid var(--bad); }
.og-table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
.og-table th { text-align: left; color: var(--soft); font-weight: 500; font-size: 13px; }
.og-table th, .og-table td { padding: 6px 8px; border-bottom: 1px solid var(--line); vertical-align: top; }
.og-table td.og-number, .og-table th.og-number { text-align: right; }
.og-scroll { overflow-x: auto; width: 100%; }
.og-badge { padding: 0 9px; border-radius: 999px; border: 1px solid currentColor;
  font-size: 12px;  white-space: nowrap; }
.og-dot { display: inline-block; width: 11px; height: 11px; border-radius: 50%; margin-right: 6px; }
.q-btn { text-transform: none !important; }
.q-btn--outline, .q-btn--flat { color: var(--accent) !important; }
.og-stack > .q-btn { align-self: flex-start; }
.q-field__native, .q-field__input { color: var(--ink) !important; }
.q-field__label { color: var(--soft) !important; }
.q-menu, .q-dialog__inner > div { background: var(--card) !important; color: var(--ink) !important; }
.q-table__card, .q-table { background: var(--card) !important; color: var(--ink) !important; }
.og-nav-low { display: none; }
@media (max-width: 760px) {
  .og-header { padding: 6px 10px; position: static; }
  .og-header .og-nav { display: none; }
  .og-main { padding: 12px 10px 84px; gap: 12px; }
  .og-card { padding: 12px; }
  .og-nav-low { display: flex; position: fixed; bottom: 0; left: 0; right: 0; z-index: 30; background: var(--card);
    border-top: 1px solid var(--line); justify-content: space-around; }
  .og-nav-low a { padding: 10px 4px; font-size: 13px; border-radius: 0; }
  .og-wide { display: none !important; }
}
@media (prefers-reduced-motion: reduce) { * { animation: none !important; transition: none !important; } }
"""
)

ENTRANCE_STYLE = (
    ":root { color-scheme: light dark; "
    + LIGHT
    + " } @media (prefers-color-scheme: dark) { :root { "
    + DARK
    + """ } }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
main { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 28px 32px;
  width: min(440px, calc(100vw - 24px)); box-sizing: border-box; }
h1 { font-size: 20px; margin: 0 0 12px; } p { margin: 8px 0; }
label { display: block; margin-bottom: 6px; color: var(--soft); }
input { width: 100%; box-sizing: border-box; font: inherit; padding: 8px 10px; border: 1px solid var(--soft);
  border-radius: 8px; background: var(--page); color: var(--ink); }
button { margin-top: 12px; font: inherit; padding: 8px 18px; border: 0; border-radius: 8px; background: var(--accent);
  color: var(--on-accent); cursor: pointer; }
#refused { color: var(--bad); }
code { font: 14px ui-monospace, monospace; }
"""
)
