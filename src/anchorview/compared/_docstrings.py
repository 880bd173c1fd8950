r"""Docstring fragments that several baselines share, and how they get into docstrings.

Each fragment is below its name. ``{default}`` stands for the default value of the parameter
described, ``{class}`` for the name of the class.

.. n_clusters
n_clusters : int, default={default}
    Number of clusters k, at least 2.
.. n_anchors
n_anchors : int, default={default}
    Number of anchors m, between `n_clusters` and the number of samples. None means `n_clusters`.
    The paper tries k, 2k and 3k.
.. n_neighbors
n_neighbors : int, default={default}
    Number of neighbors per sample in each graph, at most ``n_samples - 2``.
.. max_iter
max_iter : int, default={default}
    Maximum number of iterations.
.. fixed_max_iter
max_iter : int, default={default}
    Number of iterations; there is no other stopping criterion.
.. tol
tol : float, default={default}
    Relative change of the objective below which to stop, but not before the third iteration.
.. feature_scaling
scaling : {'features', 'none'}, default={default}
    Whether to standardize each feature, or use the views as they are, as the authors do; the
    result then depends on the units.
.. graph_init
init : {'gcca', 'identity'}, default={default}
    Initial graph.

    - 'gcca': one-hot rows from K-means on what the views have in common (generalized canonical
      correlation analysis). It does not depend on the order of samples or features.
    - 'identity': the authors' initialization, which sees only the first samples and features. The
      numbers in the paper use it.
.. weighted_z
weighted_z : bool, default={default}
    Whether the update of Z weights the views by :math:`\alpha_v^2`, as the objective does; the
    objective then never increases. If False, all views count equally, as in the authors' program
    and the numbers in the paper, and the objective may increase.
.. view_importance
view_importance : dict of str to float, default={default}
    How much views count, by name; 1 for those that are not named, and relative to the mean over
    the views. A view of importance 2 counts like two copies of it with their weights added up.
    To ignore a view, leave it out.
.. n_init
n_init : int, default={default}
    Number of K-means runs with different initializations; the run with the lowest inertia gives
    the labels.
.. random_state
random_state : int, RandomState instance or None, default=None
    Determines the random initialization of K-means. Pass an int for reproducible results.
.. verbose
verbose : int, default=0
    Verbosity level. 1 prints the size of the data, the number of iterations and the time.
.. labels_
labels_ : ndarray of shape (n_samples,), dtype=int32
    Cluster label of each sample.
.. views_
views_ : DataFrame
    By view: its `weight`; the weights sum to 1.
.. projections_
projections_ : list of ndarray of shape (n_features_v, n_clusters)
    :math:`W_v`, with orthonormal columns (rows, if the view has fewer features than clusters).
.. objective_
objective_ : ndarray of shape (`n_iter_`,)
    Objective after each iteration.
.. n_iter_and_input
n_iter_ : int
    Number of iterations.
n_views_in_ : int
    Number of views.
n_features_in_ : int
    Number of features of all views together.
feature_names_per_view_ : tuple of arrays of str or None
    Names of the features of each view; None where they are not known.
n_features_per_view_ : tuple of int
    Number of features of each view.
view_names_in_ : tuple of str
    View names: the keys of the dict passed to `fit`, otherwise ``view_0``, ``view_1``, ...
sample_ids_ : pandas.Index or None
    Sample ids, if the views are DataFrames or MuData.
.. equal_views_
views_ : DataFrame
    By view: `weight`, equal and with the sum 1, since the method does not weight views.
.. single_objective_
objective_ : ndarray of shape (1,)
    Objective of the result; there is no outer iteration.
.. components_
n_components_ : int
    Number of connected components of the graph. If it is not `n_clusters`, the labels are not
    these components; see Notes.
.. components_notes
The clusters are the connected components of the graph if there are as many. With more of them,
as happens if the graph of the data falls apart already, K-means of their means merges
components; with fewer, the labels are from K-means on the rows of `embedding_`. The authors'
programs return the components whatever their number, or stop with an error.
.. neighbor_graph_notes
Run time grows with the square of the number of samples, because all distances are computed.
Memory grows linearly: unlike in the authors' program, no dense n x n matrix is formed.

A view may have fewer features than clusters, since only distances are used. A sample is never
its own neighbor, even among duplicates. If more than `n_neighbors` samples are equally near,
the same weight goes to `n_neighbors` of them, and which ones depends on the order of the rows.
.. anchor_graph_notes
The default initialization is itself a clustering, and on many data sets the method does not
improve on it. Use ``init='identity'`` to evaluate the method rather than its initialization, or
to compare with the numbers in the paper.

Constant features count as zero. At least 1e-6 of each view's squared norm counts as
unexplained, so that weights stay finite. Views are centered, so the direction of the mean of
the anchors is arbitrary if m = k, as is that of an anchor that no sample uses; neither affects
the graph or the objective.
.. graph_spectrum_notes
Left singular vectors of Z with a singular value below 1e-6 of the largest are dropped, because
unused anchors make them arbitrary. If fewer distinct rows than clusters remain, K-means warns
and some clusters stay empty. The authors report the best of 50 K-means runs by the true
classes; here the run with the lowest inertia is kept.
"""

import inspect
import re

from anchorview._utils.docstring_fragments import docstring_filler

_names_and_texts = re.split(r"^\.\. (\w+)\n", __doc__ or "", flags=re.MULTILINE)[1:]
FRAGMENTS = {
    name: text.rstrip()
    for name, text in zip(_names_and_texts[::2], _names_and_texts[1::2], strict=True)
}

ADDED = {
    "n_clusters": r"(?<=Parameters\n----------\n)",
    "n_init": r"(?=\nAttributes\n)",
    "random_state": r"(?=\nAttributes\n)",
    "verbose": r"(?=\nAttributes\n)",
    "labels_": r"(?<=Attributes\n----------\n)",
    "objective_": r"(?=\nNotes\n)",
    "n_iter_and_input": r"(?=\nNotes\n)",
}
"""Fragments of parameters and attributes that all baselines have, in order, and their places."""

EXAMPLE = """\
Examples
--------
>>> from anchorview import make_multiview
>>> from anchorview.compared import {class}
>>> from anchorview.metrics import clustering_accuracy
>>> views, y = make_multiview(200, n_clusters=3, random_state=0)
>>> model = {class}(n_clusters=3, random_state=0).fit(views)
>>> clustering_accuracy(y, model.labels_) > 0.9
True"""

_fill = docstring_filler(FRAGMENTS | {"example": EXAMPLE})


def fill_docstring(cls: type) -> None:
    """Fill in fragments named by lines ``%(name)s``, and those of all baselines that it lacks."""
    doc = inspect.cleandoc(cls.__doc__ or "")
    if "Parameters\n" not in doc:
        return
    for name, place in ADDED.items():
        exists = name != "n_init" or hasattr(cls, name)
        # Fragments with a variant of a description end with the same name.
        if exists and f"\n{name} :" not in doc and f"{name})s" not in doc:
            doc = re.sub(place, f"%({name})s\n", doc, count=1)
    if "%(example)s" not in doc and "Examples\n" not in doc:
        doc += "\n\n%(example)s"
    cls.__doc__ = f"{doc}\n"
    _fill(cls)
