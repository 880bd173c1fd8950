"""Semi-supervised clustering: known classes and pairs of samples, and the model of the classes.

Imports ``estimators.partitions``, ``estimators.relabeling`` and everything below.
"""
