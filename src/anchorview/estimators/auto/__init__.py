"""AutoDALMC: candidate settings, landmarks, consensus, and the number of clusters.

Imports ``estimators.base``, ``core`` and everything below.
"""
