"""Where the rows are: in memory, on disk, or in Dask; ``open_source`` chooses.

Each is a :class:`~anchorview.views.row_source.RowSource`; the container of views in memory is one
with a single part. Imports ``core`` and ``datasets``.
"""
