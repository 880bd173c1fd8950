"""One module per file format: reading, opening by slices, writing.

``csv``, ``excel`` and ``parquet`` are kinds of ``table.Table``; ``table_files`` chooses among them,
matches their samples and finds the class labels, so that only it is in the table of formats.
``datasets.reading`` has one entry per format; suffixes and error messages follow from it. Modules
here import ``_utils``, ``views`` and the modules of ``datasets`` on the contents of files.
"""
