"""Texts to vectors: which provider, how it is spoken to, and what counts as a usable answer.

Queries and the embed pipeline use the same configuration, so that stored and asked-for vectors share one model.
"""
