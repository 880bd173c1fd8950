"""The algorithm on plain matrices: scale, compress, solve, embed, assign.

One module per stage, and what the stages share: the alternating solver, its trace, completion of
missing rows, blockwise K-means, sizes and the cost model. Knows nothing of files, Dask or estimators;
rows that are not in memory come through the interface in ``core.row_source``. Imports ``_utils`` and
``views``.
"""
