"""A scheduler by its address."""

from collections.abc import Iterator
from contextlib import contextmanager

from distributed import Client

PATIENCE = "10s"


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """Have the workers of a scheduler do what Dask computes in the block.

    Parameters
    ----------
    address : str
        Such as ``"tcp://host:8786"``.
    """
    try:
        client = Client(address, timeout=PATIENCE)
    except (OSError, TimeoutError, ValueError) as error:
        raise ConnectionError(
            f"{address}: no Dask scheduler answers there. Check the address, and that 'dask "
            "scheduler' runs."
        ) from error
    with client:
        yield client
