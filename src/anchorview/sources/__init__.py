"""Where the rows are: in memory (one part), on disk, or in Dask.

Each is a :class:`~anchorview.sources.part_source.PartSource`; ``open_source`` chooses. Imports
``core`` and ``datasets``.
"""
