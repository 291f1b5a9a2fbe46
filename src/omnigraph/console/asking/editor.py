"""The editor of queries: colours, underlined mistakes, and what fits where the cursor is."""

import json
from collections.abc import Callable
from itertools import islice
from typing import Any

from nicegui import ui
from nicegui.events import GenericEventArguments

from omnigraph.console.asking.highlighting import highlighted
from omnigraph.console.asking.looking import TextProblem, underlined
from omnigraph.query.offers import Vocabulary, query_offers

_OFFERS_MAX = 100
# CodeMirror asks for completions in the browser; the names and the rules are here, so each question is sent on.
_GLUE = """
(async () => {
  const found = () => getElement(%(id)d);
  while (!found()?.editorPromise) await new Promise((go) => setTimeout(go, 50));
  const [CM, editor] = await Promise.all([import("nicegui-codemirror"), found().editorPromise]);
  let turn = 0;
  const waiting = new Map();
  window.omnigraphOffers = (asked, offers) => { waiting.get(asked)?.(offers); waiting.delete(asked); };
  const autocomplete = (context) => {
    if (!context.explicit && !context.matchBefore(/[\\w$]|\\.$/)) return null;
    return new Promise((answer) => {
      waiting.set(++turn, (offers) => answer(offers.length && {
        from: context.pos - offers[0].typed, options: offers, validFor: /^[$\\w]*$/ }));
      found().$emit("offers-wanted", { turn, before: context.state.sliceDoc(0, context.pos) });
    });
  };
  editor.dispatch({ effects: CM.StateEffect.appendConfig.of([
    CM.EditorState.languageData.of(() => [{ autocomplete, commentTokens: { line: "//" } }]),
    CM.EditorView.contentAttributes.of({ "aria-label": "Query. Escape, then Tab leaves the editor." }),
  ]) });
})();
"""
_KIND_BY_WHAT = {"keyword": "keyword", "type": "class", "edge": "function", "property": "property"}


class QueryEditor:
    """An editor in a page."""

    def __init__(self, text: str, *, on_change: Callable[[str], Any], on_run: Callable[[], Any]) -> None:
        self.vocabulary = Vocabulary()
        self._problems: tuple[TextProblem, ...] = ()
        self._on_change = on_change
        self._element = (
            ui.codemirror(
                text,
                on_change=lambda event: self._changed(event.value),
                keymap={"Ctrl-Enter": lambda _: on_run(), "Cmd-Enter": lambda _: on_run()},
                line_wrapping=True,
                indent="  ",
                decorations=highlighted(text),
            )
            .classes("og-editor")
            .props("data-focus")
        )
        self._element.on("offers-wanted", self._offer)
        ui.run_javascript(_GLUE % {"id": self._element.id})

    @property
    def text(self) -> str:
        """What stands in the editor."""
        return self._element.value or ""

    def underline(self, problems: tuple[TextProblem, ...]) -> None:
        """Show where mistakes are."""
        self._problems = problems
        self._colour()

    def _changed(self, text: str) -> Any:
        # What was underlined moves with its letters until the text has been looked at again.
        self._problems = ()
        self._colour()
        return self._on_change(text)

    def _colour(self) -> None:
        # Not through the element's property, which would send the text along and undo what was typed meanwhile.
        text = self.text
        self._element.run_method("setDecorations", highlighted(text) + underlined(text, self._problems))

    def _offer(self, event: GenericEventArguments) -> None:
        asked = event.args
        offers = [
            {
                "label": offer.text,
                "detail": offer.what,
                "type": _KIND_BY_WHAT.get(offer.what, "variable"),
                "typed": offer.typed,
            }
            for offer in islice(query_offers(str(asked["before"]), self.vocabulary), _OFFERS_MAX)
        ]
        ui.run_javascript(f"window.omnigraphOffers({int(asked['turn'])}, {json.dumps(offers)})")
