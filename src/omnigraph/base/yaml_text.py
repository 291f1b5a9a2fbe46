"""Reading YAML that somebody wrote by hand."""


def read_yaml(text: str) -> object:
    """Return what a YAML text says; raise ValueError with the reason in one line, whatever stopped the parser."""
    import yaml

    try:
        return yaml.safe_load(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    except (yaml.YAMLError, ValueError, TypeError, AttributeError) as error:
        # The parser's own text spans lines; a date that is none, or a key that cannot be one, is no YAMLError to it.
        raise ValueError(" ".join(str(error).split())) from error
