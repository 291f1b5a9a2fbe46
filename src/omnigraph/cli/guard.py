"""The guard: refuses flags that cannot apply, before any configuration, file or network is touched."""

from omnigraph import errors
from omnigraph.cli.flags import GlobalFlags, RunningCommand
from omnigraph.verbs.table import CLASS_PHRASES, AddressFlag, CommandClass

# The first six in the fixed order of the contract. The others are further spellings of them; `--target` can turn into
# any scope, so it goes where a profile goes.
_SPELLINGS = (
    ("--server", "server", AddressFlag.SERVER),
    ("--cluster", "cluster", AddressFlag.CLUSTER),
    ("--graph", "graph", AddressFlag.GRAPH),
    ("--store", "store", AddressFlag.STORE),
    ("--as", "actor", AddressFlag.AS),
    ("--profile", "profile", AddressFlag.PROFILE),
    ("--uri", "uri", AddressFlag.STORE),
    ("--cluster-graph", "cluster_graph", AddressFlag.GRAPH),
    ("--target", "target", AddressFlag.PROFILE),
)


# An alias names its own address, so every flag that would is named at once, in the order of the contract.
_ALIAS_ORDER = ("--server", "--graph", "--store", "--cluster", "--profile", "--as")

# What to give instead, by class and by whether the command takes a cluster.
_REMEDIES = {
    (CommandClass.SERVED, False): "Use --server <name|url> or --profile <name>.",
    (CommandClass.DIRECT, True): "Give it a storage URI, or --cluster <dir> --graph <id>.",
    (CommandClass.DIRECT, False): "Give it a storage URI.",
    (CommandClass.CONTROL, True): "Use --cluster <dir|uri>.",
    (CommandClass.CONTROL, False): "Use --config <dir>.",
    (CommandClass.LOCAL, False): "The command does not address a graph.",
}


def refuse_foreign_flags(command: RunningCommand, flags: GlobalFlags) -> None:
    """Raise for the first flag given that this command cannot consume; of an alias, for all of them."""
    if command.verb.words == "alias":
        _refuse_addresses_of_alias(command, flags)
    for spelling, field, flag in _SPELLINGS:
        if getattr(flags, field) is not None and flag not in command.verb.accepts:
            raise does_not_apply(command, flag, spelling)
    if not command.verb.is_bulk and (given := flags.engine_flags()):
        raise errors.Usage(
            f"{given[0]} does not apply to `{command.typed}`: it says where bulk work runs, "
            f"and `{command.typed}` is not a bulk command.",
            flag=given[0],
        )


def does_not_apply(command: RunningCommand, flag: AddressFlag, spelling: str) -> errors.Addressing:
    """Build the one-paragraph refusal: the command, its class, the flag and what to give instead."""
    phrase = CLASS_PHRASES[command.verb.command_class]
    sentences = [f"`{command.typed}` is a {phrase} command: {spelling} {flag.value} and does not apply."]
    takes_cluster = AddressFlag.CLUSTER in command.verb.accepts
    if remedy := _REMEDIES.get((command.verb.command_class, takes_cluster)):
        sentences.append(remedy)
    return command.addressing_error(" ".join(sentences), flag=spelling)


def _refuse_addresses_of_alias(command: RunningCommand, flags: GlobalFlags) -> None:
    given = [spelling for spelling, field, _ in _SPELLINGS if getattr(flags, field) is not None]
    if given:
        known = [spelling for spelling in _ALIAS_ORDER if spelling in given]
        named = ", ".join(known + [spelling for spelling in given if spelling not in known])
        phrase = CLASS_PHRASES[command.verb.command_class]
        raise command.addressing_error(
            f"`{command.typed}` is a {phrase} command: an address on the line does not apply ({named}). The binding "
            "under `aliases.<name>` in the operator config owns it.",
            flag=given[0],
        )
