"""What came out: scores by suite, data set and method, significance, and published numbers.

Imports ``experiments.plan`` and below.
"""
