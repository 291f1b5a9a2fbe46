"""Three-way merge of one branch into another: per entity, over all tables, one commit, all or nothing.

`sides` observes, `routes`, `resolution` and `edges` decide, `plan` puts the decisions together, `writer` hands them to
the write protocol, `run` is the verb.
"""
