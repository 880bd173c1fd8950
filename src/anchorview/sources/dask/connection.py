"""Connection to a Dask scheduler."""

import warnings
from asyncio import CancelledError as TaskCancelled
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager

from distributed import Client, KilledWorker
from distributed.comm.core import CommClosedError

from anchorview._utils.errors import ClusterLostError

PATIENCE = "10s"
"""How long to wait for an answer of the scheduler."""

WORKER_PATIENCE = 60.0
"""How long to wait for the first worker, in seconds."""


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """Compute on the workers of a scheduler inside the block.

    Waits for the first worker. Raises a ConnectionError if the scheduler does not answer, has no
    workers, or is lost inside the block.

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
        _wait_for_workers(client, address)
        try:
            yield client
        except (CancelledError, TaskCancelled, CommClosedError) as error:
            raise ClusterLostError(
                f"{address}: the connection to the Dask scheduler was lost. Check its log, start "
                "it again, and repeat the fit."
            ) from error
        except KilledWorker as error:
            raise ClusterLostError(
                f"{address}: workers were lost again and again, probably because their memory did "
                "not suffice. Check their logs; give them more memory, or use smaller chunks."
            ) from error


def _wait_for_workers(client: Client, address: str) -> None:
    if client.scheduler_info()["workers"]:
        return
    warnings.warn(
        f"{address}: the Dask scheduler has no workers yet; waiting {WORKER_PATIENCE:g} s for the "
        "first.",
        stacklevel=4,
    )
    try:
        client.wait_for_workers(1, timeout=WORKER_PATIENCE)
    except TimeoutError:
        raise ClusterLostError(
            f"{address}: the Dask scheduler has no workers. Start some with 'dask worker "
            f"{address}'."
        ) from None
