"""The page before all others: takes the secret out of the address, or asks for a token."""

from html import escape

from omnigraph.console.theme import ENTRANCE_STYLE
from omnigraph.console.visitors import Door

_SCRIPT = """
const wanted = new URLSearchParams(location.search).get("to") || "";
const next = wanted.startsWith("/ui/") ? wanted : "/ui/";
async function enter(secret) {
  const answer = await fetch(document.body.dataset.action, {method: "POST", body: secret});
  if (answer.ok) { location.replace(next); return; }
  document.getElementById("refused").hidden = false;
  document.getElementById("waiting").hidden = true;
}
const secret = new URLSearchParams(location.hash.slice(1)).get("token");
history.replaceState(null, "", location.pathname + location.search);
if (secret !== null || document.body.dataset.open) {
  document.getElementById("waiting").hidden = false;
  enter(secret || "");
} else { document.getElementById("asking").hidden = false; }
const form = document.getElementById("form");
if (form) form.addEventListener("submit", (event) => {
  event.preventDefault();
  document.getElementById("refused").hidden = true;
  enter(document.getElementById("token").value);
});
"""


def entrance_page(door: Door, *, action: str) -> str:
    """Return the page; without something to type it says where the address comes from."""
    if door.asks_for:
        asking = (
            f'<form id="form"><label for="token">{escape(door.asks_for)}</label>'
            '<input id="token" type="password" autocomplete="current-password" autofocus required>'
            "<button>Open</button></form>"
        )
        refused = "This token is not accepted."
    else:
        asking = (
            "<p>Open the address that <code>omnigraph ui</code> printed when it started: "
            "it holds the key of this console.</p>"
        )
        refused = (
            "This address was used already, or belongs to a console that has ended. "
            "Start <code>omnigraph ui</code> again for a new one."
        )
    opening = ' data-open="yes"' if door.is_open else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        "<title>OmniGraph</title>"
        f'<style>{ENTRANCE_STYLE}</style></head><body data-action="{escape(action)}"{opening}><main>'
        '<h1>OmniGraph</h1><p id="waiting" role="status" hidden>Opening…</p>'
        f'<p id="refused" role="alert" hidden>{refused}</p><div id="asking" hidden>{asking}</div>'
        f"</main><script>{_SCRIPT}</script></body></html>\n"
    )
