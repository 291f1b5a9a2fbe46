from omnigraph.pipeline.load.tables import *  # noqa
