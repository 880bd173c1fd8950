"""AutoDALMC: the fit, the views it uses, evidence for clusters, and their number.

Imports ``estimators.known``, ``estimators.partitions``, ``estimators.persistence`` and below.
"""
