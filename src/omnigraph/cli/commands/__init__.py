"""One module per first word of a command; the function of `commit list` is `commit.commit_list`."""
