"""Carrying out mutations: statements and values → statements of one write."""
