"""Where pages get graphs from: storage that is opened here, or a server that is asked with a token."""
