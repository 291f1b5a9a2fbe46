from omnigraph.pipeline.export.rendering import render_lines  # noqa
