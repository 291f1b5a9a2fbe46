"""Migrating a branch of an older on-disk shape before anything is written to it."""

from omnigraph.graphs.context import GraphContext


def bring_up_to_date(context: GraphContext, branch: str) -> None:
    """Migrate a branch to the present stamp; costs one look when it is there already."""
    state = context.manifest.load(branch)
    if not state.stamp.is_current:
        # Few graphs are old, and the steps bring the schema compiler with them: start-up should not pay for it.
        from omnigraph.manifest.migrations.run import migrate_branch

        migrate_branch(context.store, context.schemas, state)
