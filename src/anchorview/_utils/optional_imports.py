"""Import of optional packages, with an error that names the extra to install."""

from importlib import import_module
from typing import Any

from anchorview._utils.errors import MissingPackageError


def optional_import(name: str, files: str, extra: str) -> Any:
    """Import an optional module, which the `extra` of anchorview installs.

    `files` is what needs it, in the plural, for the error message.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingPackageError(
            f'{files} need {name.partition(".")[0]}: pip install "anchorview[{extra}]".'
        ) from error
