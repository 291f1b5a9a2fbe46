"""What a crash left, and how it is settled: observe, decide, act, and write down what was done.

Decisions are pure functions of durable state, so running recovery twice, or in two processes, or after a crash of
recovery itself, comes to the same end.
"""
