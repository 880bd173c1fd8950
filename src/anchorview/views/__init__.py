"""Views as the algorithm takes them: the container, the input grammar, alignment and availability.

Owns :class:`~anchorview.MultiViewData`, the one function that turns any accepted form of input into
aligned matrices, and all errors about input. Imports ``_utils`` only.
"""
