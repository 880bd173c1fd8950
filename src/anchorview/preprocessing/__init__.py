"""Transformers of single views: counts, missing cells, and tables with categories.

They are scikit-learn transformers for use in `preprocess` of DALMC and AutoDALMC, where they have
names, and in pipelines.

===================  ===============================================================================
``"lognorm"``        :class:`LogNormalizer`: counts per sample, as for RNA
``"clr"``            :class:`CenteredLogRatio`: counts per sample, as for proteins (CITE-seq)
``"tfidf"``          :class:`PeakTfidf`: counts per sample and feature, as for peaks (ATAC)
``"impute-mean"``    :class:`CellImputer`: single missing values become the mean of the feature
``"impute-median"``  the same with the median
``"table"``          :class:`TableEncoder`: columns of numbers, categories and dates
``"words"``          :class:`WordTfidf`: texts
``"kernel"``         :class:`Similarity`: inner products of each two samples
``"distance"``       the same of distances
``"graph"``          the same of the links of a graph
===================  ===============================================================================
"""

from anchorview.preprocessing.encoders import TableEncoder, WordTfidf
from anchorview.preprocessing.similarity import Similarity
from anchorview.preprocessing.view_transformer import (
    CellImputer,
    CenteredLogRatio,
    LogNormalizer,
    PeakTfidf,
)

__all__ = [
    "CellImputer",
    "CenteredLogRatio",
    "LogNormalizer",
    "PeakTfidf",
    "Similarity",
    "TableEncoder",
    "WordTfidf",
]
