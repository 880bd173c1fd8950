"""How jobs run: worker processes with limits, and the store of results.

Imports ``experiments.plan``, ``metrics`` and what they import.
"""
