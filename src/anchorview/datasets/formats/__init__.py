"""One module per file format: read, open by slices, write.

``suffixes`` has the one table of suffixes. Imports ``_utils`` and ``views``.
"""
