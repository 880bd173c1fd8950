"""Docstring fragments that both estimators share."""

from anchorview._utils.docstring_fragments import docstring_filler

FRAGMENTS = {
    "preparation_parameters": """\
preprocess : str, transformer, dict or None, default=None
    How to preprocess views before they are scaled, all or, in a dict, by view: a transformer of
    scikit-learn's form, or the name of one of :mod:`anchorview.preprocessing`: ``"lognorm"``
    (counts of RNA), ``"clr"`` (of proteins), ``"tfidf"`` (of peaks), ``"impute-mean"`` or
    ``"impute-median"`` (single missing values), ``"table"``, and ``"kernel"``, ``"distance"`` or
    ``"graph"`` (square views of similarities). It is fitted to the samples of
    `fit` that have the view, and applied to new samples. Views that are None or left out are used
    as they are, but tables with categories, texts or dates are encoded as by ``"table"``, and
    missing cells of other tables become the mean. Data that are read in parts need transformers
    with ``partial_fit``, or without a state; those of this package have it, apart from
    ``"impute-median"``.
batch_scale : bool, default=True
    Whether features also get the same deviation in all batches, if `fit` is given `batch`; they
    always get the same mean.
memory_limit : float or str, default=None
    Memory in bytes that a fit may use in addition to the data, such as ``"1.5GB"``. The size of
    the parts in which views on disk are read follows from it. If None, half of the free memory.""",
    "input_attributes": """\
preprocessing_ : tuple of transformers or None
    Fitted transformer of each view, or None for a view without; None if no view has one.
view_selection_ : dict or None
    `views` of `fit`.
batches_ : tuple of str or None
    Names of the batches that are taken out; set if `fit` is given `batch`.
batch_mixing_ : Series or None
    How well the batches mix `before`, in the standardized views as given, and `after`, in the
    embedding: the share of other batches among the 30 nearest neighbors of at most 2,000
    samples, divided by their share of the samples. 1 is well mixed, 0 separated.
n_clusters_fit_ : int
    Number of clusters before `relabel` has merged any.
cluster_names_ : tuple of str or None
    Names that `relabel` has given to the clusters, or that they have from `reference`; of those
    without one, the number. None if no cluster has a name or has vanished.
titles_ : tuple of str
    Title of each cluster: its name, if `relabel` has given one, else the readable features of views
    in memory that set it apart, such as "audio: price 110, stereo"; else its number.
changes_ : DataFrame or None
    What became of the clusters of `reference`, as of the fit; None without. By number, old or new:
    `name`; `change`, "continued", "split from", "merged of", "new" or "vanished"; `clusters`, the
    old ones that it is from, or the new ones in which most of a vanished one is; the sizes `before`
    and `after`; `moved`, the share of samples in either cluster that are not in both, as far as
    `reference` knows them; `by_chance`, the same share between two fits to the new samples with
    different seeds; and `beyond_chance`, how much larger the first is.
n_samples_fit_ : int
    Number of samples.
n_views_in_, n_features_in_ : int
    Number of views, and of features over all views.
n_features_per_view_ : tuple of int
    Features of each view.
feature_names_per_view_ : tuple of arrays of str or None
    Names of the features of each view, if it has any. New samples are matched by them.
sample_ids_ : pandas.Index or None
    Sample ids, if the views were DataFrames or MuData, in the order of `labels_`: those of the
    first view, then those that each further view adds.
view_names_in_ : tuple of str
    Names of the views: keys of the dict given to `fit`, else ``view_0``, ``view_1``...""",
    "fit_views": """\
X : list, tuple or dict of views, a single view, MuData or MultiViewData
    Each view is an (n, d_p) array, DataFrame or scipy.sparse matrix with rows in the same
    order; DataFrames are aligned by index. A sample may lack views, but not all: its row is
    all NaN, or its id is missing in the DataFrame.""",
    "fit_parameters": """\
views : dict of str to str, list of str or Ellipsis, default=None
    For a single table: the columns of each view, by view name, as in ``{"price": ["p1", "p2"],
    "text": "title", "rest": ...}``. Ellipsis, or ``"..."``, is all columns that no view names.
    For AnnData and MuData objects and dicts or lists of AnnData objects: the matrix to
    use for each view, by view name; other views are not used. A matrix is ``"X"``,
    ``"layer:NAME"`` or ``"obsm:NAME"``; ``X`` or a layer can be followed by a boolean
    column of ``var`` that selects features, as in ``"X:highly_variable"``. Names are those
    of modalities or of the given views; for a single AnnData object, any names can be
    used. `predict` and `transform` select the same. If None, ``X`` of all.
join : {"outer", "inner"} or None, default=None
    Samples of views that are aligned by id: all, also those that lack views (``"outer"``), or
    only those that have all views. None is ``"outer"`` with a warning if views share fewer
    than half of the ids of the smaller one, and what would make them match.
batch : array-like (n,) or str, default=None
    Batch of each sample. Batch effects are removed from the views: in every batch, each
    feature gets the overall mean and, with `batch_scale`, the same standard deviation. A
    Series is aligned by sample id. With MuData or AnnData, also the name of a column of
    ``obs``.
covariates : array-like (n, q), DataFrame, str or list of str, default=None
    Numeric covariates of each sample, such as age or sequencing depth. Each feature is
    regressed on them within batches, so that their effect is removed. Aligned like `batch`.
sample_weight : array-like (n,), str or float, default=None
    How often each sample counts, not negative: a sample of weight 2 is two equal samples, and
    one of weight 0 is given a cluster by the others. Aligned like `batch`; transformers in
    `preprocess` and batches know no weights.
reference : DALMC or AutoDALMC, default=None
    A fitted model, such as that of last month, whose clusters are to continue: those that
    overlap with one of its clusters by more than a half get the number and the name of that
    cluster, others those of the cluster that they are most of, or that is most of them. New
    clusters get new numbers, and numbers of vanished ones are not used again. Samples are matched
    by id; if few ids are known to both, the reference labels the samples. A second fit with another
    seed shows how much clusters move by chance (`changes_`).

    .. versionadded:: 0.2""",
    "doubtful": """\
doubtful : int, default=None
    Negative number that samples in doubt get in place of a cluster, such as -1, by the rule of
    `labels_without_doubt`. If None, every sample has a cluster.""",
    "new_labels": """\
labels : array (n,) of int32, or Series
    If the samples have ids (DataFrames, AnnData, MuData, tables), a Series indexed by sample
    id, so that ``table["cluster"] = model.predict(views)`` is aligned by id. Its order is
    that of the ids: those of the first view, then those that each further view adds. A dask
    array if the views are, a memory map if `out` is given, both in this order, or by
    ascending id for dask dataframes. Names in place of numbers after
    ``relabel(..., output="names")``.""",
    "new_samples": """\
X : views of new samples, in any form that `fit` takes
    Views of a dict are matched by name, other forms by position. Samples may lack views,
    also in patterns that `fit` has not seen: use rows of NaN, pass None for a view, or
    leave it out of the dict. Features are matched by name where names are known.
batch, covariates : default=None
    As for `fit`; needed if the model was fitted with them.
unknown_batch : {"error", "center"}, default="error"
    What to do with a batch that `fit` did not have, or not in a view: raise an error, or
    center and scale it on its samples here.""",
}

fill_docstring = docstring_filler(FRAGMENTS)
"""Replaces each line ``%(name)s`` of a docstring by the fragment of that name."""
