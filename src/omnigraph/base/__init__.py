"""Ids, clock, units, events and fail points: what every layer may use and what uses no layer."""
