"""File formats: reading, opening by slices, writing.

Tables of ``csv``, ``parquet`` and Excel (in ``table_files``) are kinds of ``table.Table``;
``table_files`` chooses among them, matches their samples and finds the class labels.
``datasets.reading`` has one entry per format; suffixes and error messages follow from it. Modules
here import ``_utils``, ``views`` and the modules of ``datasets`` on the contents of files.
"""
