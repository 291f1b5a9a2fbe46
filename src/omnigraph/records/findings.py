from omnigraph.pipeline.load.findings import *  # noqa
