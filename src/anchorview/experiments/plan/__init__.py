"""What to run: plans and their files, data sets, suites, grids of settings, and jobs.

Imports ``datasets``, ``estimators`` and what they import; nothing else of ``experiments``.
"""
