"""One module per file format: reading, opening by slices, writing.

``datasets.reading`` has one entry per format; suffixes and error messages follow from it. Modules
here import ``_utils``, ``views`` and the modules of ``datasets`` on the contents of files.
"""
