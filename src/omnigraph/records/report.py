from omnigraph.pipeline.load.report import *  # noqa
