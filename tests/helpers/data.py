"""Synthetic data and small helpers that several test modules share."""

from anchorview import MultiViewData, make_multiview


def clustered_views(n=150, k=3, widths=(12, 9, 7), *, separation=3.0, seed=0, **options):
    """Views (a dict) with known clusters, and their classes."""
    return make_multiview(
        n, n_clusters=k, n_features=widths, separation=separation, random_state=seed, **options
    )


def clustered_data(*args, **options):
    """The same as a container."""
    views, y = clustered_views(*args, **options)
    return MultiViewData(views), y


def folder_contents(folder):
    """Bytes of all files of a folder, by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}
