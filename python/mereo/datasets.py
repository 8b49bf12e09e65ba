"""Toy worlds whose truth is known."""

from __future__ import annotations

import numpy as np
from sklearn.utils import Bunch

from . import _native


def toy(world: str = "shapes", *, n_rows: int | None = None, random_state: int = 0) -> Bunch:
    """Rows of a toy world.

    Parameters
    ----------
    world : {'shapes', 'faces', 'ratings', 'documents'}, default='shapes'
        Which world.
    n_rows : int or None, default=None
        How many rows; as many as the world usually has if None.
    random_state : int, default=0
        The seed.

    Returns
    -------
    Bunch
        ``data`` (ndarray, NaN where a cell is missing), ``target`` (labels or None), ``feature_names`` (list or
        None), ``picture`` (height, width and channels, or None).

    Examples
    --------
    >>> from mereo.datasets import toy
    >>> faces = toy("faces", n_rows=10)
    >>> faces.data.shape[0], len(faces.picture)
    (10, 3)
    """
    data, names, labels, picture = _native.toy(world, n_rows, random_state)
    target = None if labels is None else np.array(labels, dtype=object)
    return Bunch(data=data, target=target, feature_names=names, picture=picture)
