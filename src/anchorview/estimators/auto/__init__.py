"""AutoDALMC: candidate settings, landmarks, consensus, and the number of clusters.

Imports ``estimators.base``, ``estimators.persistence``, ``core`` and everything below.
"""
