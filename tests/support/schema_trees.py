"""Random syntax trees of schemas."""

from hypothesis import strategies as st

from omnigraph.language.schema.syntax import (
    AnnotationSyntax,
    ArgumentSyntax,
    CardSyntax,
    CheckSyntax,
    EdgeSyntax,
    InterfaceSyntax,
    LiteralSyntax,
    MembersSyntax,
    Name,
    NodeSyntax,
    PropertySyntax,
    RangeSyntax,
    SchemaSyntax,
    TypeSyntax,
    WordSyntax,
)

SCALARS = ["String", "Bool", "I32", "I64", "U32", "U64", "F32", "F64", "Date", "DateTime", "Blob"]
CONSTRAINTS = {"key", "unique", "index", "range", "check", "card"}
SPAN = {"span": None}


def named(texts):
    return texts.map(lambda text: Name(text=text, **SPAN))


def tuples_of(items, *, min_size=0):
    return st.lists(items, min_size=min_size, max_size=2).map(tuple)


words = st.sampled_from(["node", "edge", "enum", "implements", "true"]) | st.from_regex(
    r"[a-z_][A-Za-z0-9_]{0,5}", fullmatch=True
)
property_names = named(words)
type_names = named(st.from_regex(r"[A-Z][A-Za-z0-9_]{0,5}", fullmatch=True))
enum_values = named(st.from_regex(r"[A-Za-z0-9_-]{1,6}", fullmatch=True))
counts = st.integers(0, 2**64 - 1)
numbers = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
literals = st.builds(LiteralSyntax, value=texts | numbers | st.booleans(), span=st.none())
bare_words = st.builds(
    WordSyntax,
    text=st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,5}", fullmatch=True).filter(
        lambda word: word not in {"true", "false"}
    ),
    span=st.none(),
)
arguments = st.builds(ArgumentSyntax, name=property_names, value=literals)
bare_annotations = st.builds(
    AnnotationSyntax, name=property_names, value=st.none(), arguments=st.just(()), span=st.none()
)
annotations_with_values = st.builds(
    AnnotationSyntax,
    name=named(words.filter(lambda word: word not in CONSTRAINTS)),
    value=literals | bare_words,
    arguments=st.lists(arguments, max_size=2, unique_by=lambda argument: argument.name.text).map(tuple),
    span=st.none(),
)
annotations = tuples_of(bare_annotations | annotations_with_values)
types = (
    st.builds(
        TypeSyntax, scalar=st.sampled_from(SCALARS), is_list=st.booleans(), nullable=st.booleans(), span=st.none()
    )
    | st.builds(
        TypeSyntax,
        scalar=st.just("String"),
        enum_values=tuples_of(enum_values, min_size=1),
        nullable=st.booleans(),
        span=st.none(),
    )
    | st.builds(TypeSyntax, scalar=st.just("Vector"), dimension=counts, nullable=st.booleans(), span=st.none())
)
properties = tuples_of(st.builds(PropertySyntax, name=property_names, type=types, annotations=annotations))
bounds = st.tuples(numbers, st.none() | numbers) | st.tuples(st.none(), numbers)
ranges = st.builds(
    lambda name, pair: RangeSyntax(property=name, low=pair[0], high=pair[1], **SPAN), property_names, bounds
)
constraints = tuples_of(
    st.builds(
        MembersSyntax,
        kind=st.sampled_from(["key", "unique", "index"]),
        members=tuples_of(property_names, min_size=1),
        span=st.none(),
    )
    | ranges
    | st.builds(CheckSyntax, property=property_names, pattern=texts, span=st.none())
)
declarations = (
    st.builds(InterfaceSyntax, name=type_names, properties=properties)
    | st.builds(
        NodeSyntax,
        name=type_names,
        annotations=annotations,
        implements=tuples_of(type_names),
        properties=properties,
        constraints=constraints,
    )
    | st.builds(
        EdgeSyntax,
        name=type_names,
        from_type=type_names,
        to_type=type_names,
        card=st.none() | st.builds(CardSyntax, low=counts, high=st.none() | counts, span=st.none()),
        annotations=annotations,
        properties=properties,
        constraints=constraints,
    )
)
schemas = st.builds(SchemaSyntax, declarations=tuples_of(declarations), source=st.none())
