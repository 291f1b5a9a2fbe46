"""Where bulk work runs: independent tasks and relational steps, in process or on a cluster."""
