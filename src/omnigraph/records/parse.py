from omnigraph.pipeline.load.records import parse_chunk  # noqa
