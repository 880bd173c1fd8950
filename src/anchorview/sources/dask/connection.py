"""Connection to a Dask scheduler."""

from collections.abc import Iterator
from contextlib import contextmanager

from distributed import Client

PATIENCE = "10s"


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """Compute on the workers of a scheduler inside the block.

    Parameters
    ----------
    address : str
        Such as ``"tcp://host:8786"``.
    """
    try:
        client = Client(address, timeout=PATIENCE)
    except (OSError, TimeoutError, ValueError) as error:
        raise ConnectionError(
            f"{address}: no Dask scheduler answers. Check the address, and that 'dask scheduler' "
            "is running."
        ) from error
    with client:
        yield client
