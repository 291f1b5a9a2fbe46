"""What an option means when it is left out is said once: Python takes the very defaults of the requests."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields

import pytest

import omnigraph
from omnigraph.branches.merge.run import MergeRequest
from omnigraph.branches.verbs import Branches
from omnigraph.engine.choice import EngineChoice
from omnigraph.evolution.plan import SchemaRequest
from omnigraph.graph import Graph
from omnigraph.maintenance.cleanup.policy import CleanupRequest
from omnigraph.maintenance.optimize.request import OptimizeRequest
from omnigraph.maintenance.repair.request import RepairRequest
from omnigraph.maintenance.verify.run import VerifyRequest
from omnigraph.manifest.birth import InitRequest
from omnigraph.pipeline.embed.request import EmbedFilesRequest, EmbedRequest
from omnigraph.pipeline.export.request import ExportRequest
from omnigraph.pipeline.load.request import LoadRequest

OF_THE_CALL = {"self", "events", "uri", "storage_options"}
"""What says where and who listens, not what is asked for."""
SAID_OTHERWISE = {
    RepairRequest: {"confirm", "force", "discard"},  # together the consent
    CleanupRequest: {"keep", "older_than"},  # together the policy
}


def test_optimize_has_the_options_and_the_defaults_of_its_options_object() -> None:
    parameters = inspect.signature(Graph.optimize).parameters
    declared = {field.name: field.default for field in fields(OptimizeRequest) if field.name != "engine"}

    assert {name: parameters[name].default for name in declared} == declared


@pytest.mark.parametrize(
    ("verb", "request_class"),
    [
        (omnigraph.init, InitRequest),
        (Graph.load, LoadRequest),
        (Graph.export, ExportRequest),
        (Graph.embed, EmbedRequest),
        (omnigraph.embed_files, EmbedFilesRequest),
        (Branches.merge, MergeRequest),
        (Graph.apply_schema, SchemaRequest),
        (Graph.optimize, OptimizeRequest),
        (Graph.repair, RepairRequest),
        (Graph.verify, VerifyRequest),
        (Graph.cleanup, CleanupRequest),
    ],
    ids=lambda part: getattr(part, "__name__", ""),
)
def test_a_verb_takes_the_options_of_its_request_with_the_same_defaults(
    verb: Callable[..., object], request_class: type
) -> None:
    parameters = {
        name: parameter
        for name, parameter in inspect.signature(verb).parameters.items()
        if name not in OF_THE_CALL | SAID_OTHERWISE.get(request_class, set())
    }
    declared = {field.name: default_of(field) for field in fields(request_class) if field.name != "consent"}
    if request_class is InitRequest:
        declared["consent"] = False

    assert set(parameters) == set(declared)
    for name, default in declared.items():
        given = parameters[name].default
        # None stands for what only the process knows: its environment, or a mapping that is made anew.
        assert given is None or default in (given, MISSING), name
        assert (given is inspect.Parameter.empty) <= (default is MISSING), name
        assert given is not None or default in (None, {}, MISSING, EngineChoice()), name


def default_of(field: "Field[object]") -> object:
    return field.default if field.default_factory is MISSING else field.default_factory()


def test_every_option_of_a_graph_is_a_keyword_except_what_the_call_is_about() -> None:
    """A second positional argument is a mistake waiting to happen; the two sides of a diff are the exception.

    So are the type, the id and the property that are the address of one blob, in the order in which everything names
    them. And so are a query's text and which of its queries is meant: they have no names, which belong to the query's
    parameters.
    """
    positional = {
        name: [
            parameter
            for parameter in inspect.signature(method).parameters.values()
            if parameter.kind not in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
            and parameter.name != "self"
        ]
        for name, method in inspect.getmembers(Graph, inspect.isfunction)
        if not name.startswith("_")
    }

    several = {
        name: [parameter.name for parameter in given]
        for name, given in positional.items()
        if len(given) > 1 and not is_query(given)
    }
    assert several == {"blob": ["type", "id", "property"], "diff": ["before", "after"], "show": ["what", "ids"]}


def is_query(given: list[inspect.Parameter]) -> bool:
    names = [parameter.name for parameter in given if parameter.kind is inspect.Parameter.POSITIONAL_ONLY]
    return names == ["text", "name"] and len(given) == 2
