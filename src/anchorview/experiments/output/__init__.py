"""Output of suites of experiments: tables, figures, a summary and a report page.

Imports `plan` and `results` of the experiments, and charts and pages from :mod:`anchorview.report`.
"""
