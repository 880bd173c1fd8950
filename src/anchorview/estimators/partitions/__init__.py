"""Partitions of samples: coordinates, neighbor graphs, the candidates, and their consensus.

Imports ``estimators.explanation``, ``core`` and everything below.
"""
