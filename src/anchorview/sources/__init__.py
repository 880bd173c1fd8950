"""Where the rows live: in memory (one part), on disk, or in Dask.

Each is a :class:`~anchorview.core.row_source.RowSource`; ``open_source`` chooses. Imports ``core`` and
``datasets``.
"""
