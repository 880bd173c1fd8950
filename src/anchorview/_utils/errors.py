"""Errors of files, whose messages say what was found and what to do."""


class DataFileError(ValueError):
    """A file of views that cannot be used; the message says what was found and what to do."""


class MissingPackageError(DataFileError, ImportError):
    """A file that needs an optional package; the message says how to install it."""


class OutputFileError(OSError):
    """A file that cannot be written; the message says why and what to do."""


class ClusterLostError(ConnectionError):
    """A Dask cluster that no longer computes; the message says why and what to do."""
