"""Helpers that know nothing of views or clustering: linear algebra, threads, progress,
memory, atomic files, optional imports, text, parameter constraints and scikit-learn compatibility.

Imports nothing else of the package.
"""
