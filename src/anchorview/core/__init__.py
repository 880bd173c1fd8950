"""The algorithm on plain matrices: scale, compress, solve, embed, assign.

One module per stage (``scale``, ``compress``, ``solve``, ``embed``, ``assign``), and what these
share: scaled views, the alternating solver, blockwise K-means, the correction of batches and the
cost model. Knows nothing of files, Dask or estimators; samples that are not in memory are seen as
:class:`~anchorview.views.row_source.RowSource`. Imports ``_utils`` and ``views``.
"""
