"""Model files: the container format, a codec, and the state of each estimator that is stored.

Imports ``core`` and everything below, and the registry of methods. The estimators import this
package, not the other way round.
"""

from anchorview.estimators.persistence.model_file import ModelFileError, load_model, save_model

__all__ = ["ModelFileError", "load_model", "save_model"]
