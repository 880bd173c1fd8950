"""The algorithm: scale, compress, solve, embed, assign.

One module per stage (``scale``, ``compress``, ``solve``, ``embed``, ``assign``), and what these
share. The solver (``alternating``) and K-means (``blockwise_kmeans``, ``neighbors``)
work on plain matrices; the other modules make passes over the rows of a
:class:`~anchorview.views.row_source.RowSource`, whether these are in memory, in files or in Dask.
Imports ``_utils`` and ``views``.
"""
