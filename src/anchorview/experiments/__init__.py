"""Experiments: many fits, each a job in a separate process, and their evaluation.

A plan and data sets make the jobs of suites (:mod:`~anchorview.experiments.plan`), which
:mod:`~anchorview.experiments.runner` runs. Their
results are evaluated and written as tables, figures and a report page
(:mod:`~anchorview.experiments.outputs`).
"""
