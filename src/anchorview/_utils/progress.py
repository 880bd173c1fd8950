"""Progress of long work, and messages about it.

Stages call :func:`report_progress`; a front end such as the command line receives the reports with
:func:`listen_to_progress`. Without a listener, reports cost nothing. Messages go to the logger
"anchorview".
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

LOGGER = logging.getLogger("anchorview")

Listener = Callable[[str, int, int], None]
"""Called with the name of the stage, the number of finished steps, and of all steps."""

_listener: ContextVar[Listener | None] = ContextVar("anchorview_progress", default=None)


def report_progress(stage: str, done: int, total: int) -> None:
    """Report that `done` of `total` steps of a stage are finished."""
    listener = _listener.get()
    if listener is not None:
        listener(stage, done, total)


@contextmanager
def listen_to_progress(listener: Listener | None) -> Iterator[None]:
    """Send reports inside the block to `listener`; None keeps the current listener."""
    if listener is None:
        yield
        return
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def log_message(message: str, *, verbose: bool) -> None:
    """Log a message; print it if it is to be shown, and no handler of the logger takes it."""
    if LOGGER.isEnabledFor(logging.INFO) and LOGGER.hasHandlers():
        LOGGER.info("%s", message)
    elif verbose:
        print(message)
