"""`omnigraph completion`."""

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from omnigraph.cli.app import COMPLETION_VARIABLE, PROGRAM
from omnigraph.cli.command import command
from omnigraph.cli.invocation import Invocation

SHELLS: dict[str, type[ShellComplete]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


@command("completion", examples=("omnigraph completion bash > omnigraph.bash",))
@click.argument("shell", type=click.Choice(list(SHELLS)), metavar="bash|zsh|fish", help="The shell you use.")
def completion(invocation: Invocation, *, shell: str) -> None:
    """Print the completion script of a shell.

    It completes commands, flags and their fixed values, and branches and types of the graph that the line addresses.
    Source the script in the start-up file of the shell.
    """
    program = click.get_current_context().find_root().command
    completer = SHELLS[shell](program, {}, PROGRAM, COMPLETION_VARIABLE)
    # Not `completer.source()`: for bash that starts a bash to ask for its version, and this one may be for elsewhere.
    script = completer.source_template % completer.source_vars()
    invocation.output.show(script, document=str, text=lambda lines: [lines.strip()])
