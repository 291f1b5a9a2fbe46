"""What an option means when it is left out is said once: Python takes the very defaults of the options."""

import inspect
from dataclasses import fields

from omnigraph.graph import Graph
from omnigraph.maintenance.optimize.options import OptimizeOptions


def test_optimize_has_the_options_and_the_defaults_of_its_options_object() -> None:
    parameters = inspect.signature(Graph.optimize).parameters
    declared = {field.name: field.default for field in fields(OptimizeOptions)}

    assert {name: parameters[name].default for name in declared} == declared


def test_every_option_of_a_graph_is_a_keyword_except_what_the_call_is_about() -> None:
    """A second positional argument is a mistake waiting to happen; the two sides of a diff are the exception."""
    positional = {
        name: [
            parameter.name
            for parameter in inspect.signature(method).parameters.values()
            if parameter.kind is not inspect.Parameter.KEYWORD_ONLY and parameter.name != "self"
        ]
        for name, method in inspect.getmembers(Graph, inspect.isfunction)
        if not name.startswith("_")
    }

    assert {name: given for name, given in positional.items() if len(given) > 1} == {"diff": ["before", "after"]}
