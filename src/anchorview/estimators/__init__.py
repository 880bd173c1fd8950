"""The estimators DALMC and AutoDALMC, their shared base class, and model files.

Imports ``sources``, ``core`` and everything below.
"""
