"""Frequencies of words for texts."""

from collections import Counter
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, cast

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from anchorview._utils.sklearn_compat import Interval
from anchorview._utils.typing import Array, Matrix
from anchorview.preprocessing.view_transformer import ViewTransformer
from anchorview.views.table_columns import pandas_frame


@dataclass(eq=False, repr=False)
class WordTfidf(ViewTransformer):
    """Texts to frequencies of words, ``(1 + log f) (1 + log((1 + n) / (1 + m)))``.

    ``f`` is how often a word occurs in the text, and ``m`` the number of the n texts of `fit` that
    have it; rows have length 1. This is ``TfidfVectorizer`` of scikit-learn with ``sublinear_tf``,
    but can be fitted to parts of the samples. Words are runs of two letters or digits or more, in
    lower case. There are no lists of stop words: in any language, these are in most texts.

    Parameters
    ----------
    max_features : int, default=20000
        Maximum number of words; those in most texts are kept.
    min_texts : int, default=2
        Minimum number of texts that have a word.
    max_share : float, default=0.5
        Maximum share of texts that have a word.

    Attributes
    ----------
    words_ : array of str
        The words, sorted.
    n_samples_seen_ : int

    Examples
    --------
    >>> from anchorview.preprocessing import WordTfidf
    >>> texts = ["red apple", "green apple", "green tea and milk", "black tea", "red rose"]
    >>> words = WordTfidf().fit(texts)
    >>> words.get_feature_names_out().tolist()
    ['apple', 'green', 'red', 'tea']
    >>> words.transform(["an Apple, a red one"]).toarray().round(2)
    array([[0.71, 0.  , 0.71, 0.  ]], dtype=float32)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_features": [Interval(Integral, 1, None, closed="left")],
        "min_texts": [Interval(Integral, 1, None, closed="left")],
        "max_share": [Interval(Real, 0, 1, closed="right")],
    }
    summed = ("_texts_with",)
    n_features_in_ = 1
    dtype = np.dtype(np.float32)

    max_features: int = 20_000
    min_texts: int = 2
    max_share: float = 0.5

    _texts_with: Counter[str] = field(init=False)

    def _learned(self, X: Any, is_first: bool) -> dict[str, Any]:
        texts, words_of = _texts(X), CountVectorizer().build_analyzer()
        counts = Counter(word for text in texts for word in set(words_of(text)))
        return {"n_samples_seen_": len(texts), "_texts_with": counts}

    @property
    def frequencies_(self) -> dict[str, int]:
        """Number of texts of `fit` that have a word, by word."""
        check_is_fitted(self, "n_samples_seen_")
        most = max(self.min_texts, self.max_share * self.n_samples_seen_)
        kept = {w: n for w, n in self._texts_with.items() if self.min_texts <= n <= most}
        if not kept:
            raise ValueError(
                f"no word is in at least {self.min_texts} and at most {most:.0f} of the "
                f"{self.n_samples_seen_} texts, so there are no features. Lower min_texts or raise "
                "max_share of WordTfidf, or leave the view out."
            )
        frequent = sorted(kept, key=lambda word: (-kept[word], word))[: self.max_features]
        return {word: kept[word] for word in sorted(frequent)}

    @property
    def words_(self) -> Array:
        """The words, sorted."""
        return np.array(list(self.frequencies_), dtype=object)

    @property
    def description(self) -> str:
        """How many words there are."""
        return f"{len(self.words_)} words"

    def get_feature_names_out(self, input_features: object = None) -> Array:
        """The words.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        names : array of str
        """
        return self.words_

    def transform(self, X: Any) -> Matrix:
        """Weigh the words of texts.

        Parameters
        ----------
        X : array-like (n,) of str, or DataFrame with columns of texts, which are joined

        Returns
        -------
        X_new : csr_array (n, n_words)
            Texts without a known word have rows of zeros.
        """
        frequencies = self.frequencies_
        positions = {word: j for j, word in enumerate(frequencies)}
        counts = CountVectorizer(vocabulary=positions, dtype=np.float32).transform(_texts(X))
        counts.data = 1 + np.log(counts.data)
        rarity = 1 + np.log((1 + self.n_samples_seen_) / (1 + np.array([*frequencies.values()])))
        counts.data *= rarity.astype(np.float32)[counts.indices]
        return cast(Matrix, sparse.csr_array(normalize(counts, copy=False)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags


def _texts(X: Any) -> list[str]:
    """Texts of samples; those of several columns are joined, and missing ones are empty."""
    frame = pd.DataFrame(pandas_frame(X) if hasattr(X, "columns") else np.asarray(X, object))
    return [
        " ".join(str(x) for x, known in zip(row, given, strict=True) if known)
        for row, given in zip(frame.to_numpy(object), frame.notna().to_numpy(), strict=True)
    ]
