"""An alias of the operator config with what the line adds: which stored query, where, and with which values."""

import json
from collections.abc import Mapping, Sequence

from omnigraph import errors
from omnigraph.base.values import dataclass
from omnigraph.cli.bindings import server_url
from omnigraph.cli.operator_config import Alias, OperatorSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCall:
    """One stored read, ready to be sent: `url` is the base of the server, `graph` the one that is asked."""

    url: str
    graph: str | None
    query: str
    params: Mapping[str, object]
    format: str


def call_of_alias(
    name: str, words: Sequence[str], params: Mapping[str, object], *, form: str | None, config: OperatorSettings
) -> StoredCall:
    """Bind the words of a line to an alias.

    Of each parameter, `params` counts before a word, and a word before what the alias has itself.
    """
    alias = _defined(name, config)
    server, query = _required(alias, "server", config), _required(alias, "query", config)
    if query.endswith(".gq") or "/" in query:
        raise _broken(alias, config, f"has `query: {query}`, which is a file; it names a query that the server keeps")
    if len(words) > len(alias.args):
        takes = f"takes {', '.join(alias.args)}" if alias.args else "takes no values"
        raise errors.Usage(f"`alias {name}` got {len(words)} values and {takes} (`aliases.{name}.args`).")
    by_position = {arg: _value(word) for arg, word in zip(alias.args, words, strict=False)}
    return StoredCall(
        url=server_url(server, config),
        graph=alias.graph,
        query=query,
        params={**alias.params, **by_position, **params},
        format=form or alias.format or config.defaults.output,
    )


def _defined(name: str, config: OperatorSettings) -> Alias:
    if name not in config.aliases:
        known = f"Defined: {', '.join(sorted(config.aliases))}." if config.aliases else "None is defined."
        raise errors.Usage(f"alias '{name}' is not defined under `aliases:` in '{config.path}'. {known}")
    return config.aliases[name]


def _required(alias: Alias, key: str, config: OperatorSettings) -> str:
    value: str | None = getattr(alias, key)
    if value is None:
        raise _broken(alias, config, f"lacks `{key}`")
    return value


def _broken(alias: Alias, config: OperatorSettings, reason: str) -> errors.OperatorConfig:
    return errors.OperatorConfig(
        f"alias '{alias.name}' in operator config '{config.path}' {reason}.", path=str(config.path)
    )


def _value(word: str) -> object:
    """Take a word for JSON if it is some, else for a text; a text that looks like a number is written `'"29"'`."""
    try:
        return json.loads(word, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return word


def _refuse_constant(word: str) -> object:
    # Python reads NaN and Infinity, which no JSON has: they are texts.
    raise ValueError(word)
