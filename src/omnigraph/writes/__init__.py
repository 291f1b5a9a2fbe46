"""The write protocol: how a change to several tables becomes one commit, or nothing.

    prepare -> stage -> gates -> revalidate -> arm sidecar -> table effects -> publish -> log -> forget sidecar

Every writer describes its change (`protocol.Writer`); `protocol.run_write` is the only code that carries one out.
`recovery/` settles what a crash left behind.
"""
