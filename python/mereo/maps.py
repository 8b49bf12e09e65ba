"""Maps: rows on a page, so that rows that are alike lie together.

Examples
--------
>>> from mereo.datasets import toy
>>> from mereo.maps import map
>>> X = toy("shapes", n_rows=100).data
>>> there = map(X, n_components=10)
>>> there.points.shape
(100, 2)
>>> there.place(X[:3]).shape
(3, 2)
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from . import _native
from ._data import NOTHING, Known, labels_of, rows_of, seed_of, threads_of

__all__ = ["Map", "map"]


class Map:
    """A finished map.

    Attributes
    ----------
    points : ndarray of shape (n_samples, n_dimensions)
        Where rows are.
    method : str
        How it was made.
    quality : dict
        How far it can be believed: ``trustworthiness``, ``continuity``, ``neighbour_recall`` ... 1 is best.
    names : list of str or None
        What rows are called, if they have names.
    """

    def __init__(self, native: _native.Map, missing: str | None = None) -> None:
        self._native = native
        self.missing = missing
        self.points: NDArray[np.float64] = native.points
        self.method: str = native.params[0]
        self.quality: dict[str, Any] = json.loads(native.quality)
        self.names: list[str] | None = native.names

    def place(self, X: Any, *, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Where new rows belong."""
        rows, known = _rows(X, self.missing)
        return self._native.place(rows, known, threads_of(n_jobs))

    def report(self, path: str | os.PathLike[str], X: Any = None, *, title: str = "map", n_jobs: int | None = None) -> None:
        """Write one HTML page about the map that needs no network.

        Parameters
        ----------
        path : path
            The page.
        X : rows, optional
            The rows that the map was made of, to be shown with it.
        title : str, default='map'
            The page's title.
        n_jobs : int or None, default=None
            Threads: None is 1, -1 all cores.
        """
        rows, known = (None, NOTHING) if X is None else _rows(X, self.missing)
        self._native.report(os.fspath(path), title, rows, known, threads_of(n_jobs))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the map's file, which ``mereo.load`` opens, and the program's `report`, `show` and `map --onto` take."""
        self._native.save(os.fspath(path))

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_bytes, (self._native.to_bytes(), self.missing)

    def __repr__(self) -> str:
        rows, dimensions = self.points.shape
        return f"<map of {rows} rows in {dimensions} dimensions by {self.method}>"


def map(
    X: Any,
    y: ArrayLike | None = None,
    *,
    method: str = "tsne",
    n_dimensions: int = 2,
    model: Any = None,
    n_components: int | None = None,
    n_landmarks: int | None = None,
    perplexity: float | Sequence[float] | None = None,
    width: float | None = None,
    prepare: Sequence[str] = (),
    distances: bool = False,
    similarities: str | None = None,
    names: Sequence[str] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    missing: str | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    **options: Any,
) -> Map:
    """Put rows on a page.

    Parameters
    ----------
    X : array-like, sparse matrix or table of shape (n_samples, n_features)
        The rows. Those with missing values are mapped by what a model makes of them, or by ``n_components``.
    y : array-like of shape (n_samples,), optional
        Labels, kept with the map; how well neighbours agree in them is told.
    method : {'tsne', 'sammon', 'mds', 'pcoa'}, default='tsne'
        t-SNE keeps neighbours, Sammon's mapping and metric scaling keep distances, principal coordinates the largest ones.
    n_dimensions : int, default=2
        Dimensions of the map.
    model : estimator, optional
        Map what this model makes of the rows, their codes.
    n_components : int, optional
        Bring rows to this many principal components first.
    n_landmarks : int, optional
        Make the map of this many rows, evenly spread, and place the others into it.
    perplexity : float or several, optional
        How many neighbours a row has for t-SNE, roughly; several are averaged.
    width : float, optional
        The same width of neighbourhoods everywhere for t-SNE, in the data's units, in place of a perplexity.
    prepare : sequence of str, default=()
        Steps that rows go through first, kept in the map and done to new rows as well: 'standardise', 'scale', 'equalise' ...
    distances : bool, default=False
        Whether ``X`` is a square matrix of distances in place of rows.
    similarities : {'reverse', 'root', 'log'}, optional
        ``X`` is a square matrix of similarities, turned into distances by this rule: for answers on a scale, for dot products, for rates.
    names : sequence of str, optional
        What rows are called, kept with the map.
    checkpoint : path, optional
        Keeps the state of the map in this file.
    resume : bool, default=False
        Goes on from the checkpoint, if it is there, to the map that would have been made.
    missing : {'unobserved', 'zero'} or None, default=None
        What a cell means that a sparse matrix does not store.
    random_state : int, RandomState or None, default=None
        The seed of everything random.
    n_jobs : int or None, default=None
        Threads: None is 1, -1 all cores. The map does not depend on it.
    **options
        Of t-SNE ``start`` ('pca', 'spectral', 'random'), ``exaggeration``, ``early_exaggeration``, ``degrees``, ``forces`` ('exact', 'grid', 'tree'), ``steps`` ...; of Sammon's mapping and metric
        scaling ``starts``, ``steps``, ``tolerance``; of metric scaling ``cost`` ('squares', 'distances').

    Returns
    -------
    Map
    """
    rows, known = _rows(X, missing, y)
    if perplexity is not None:
        one = isinstance(perplexity, (int, float, np.number))
        options["affinity"] = {"perplexity": float(perplexity)} if one else {"multiscale": [float(p) for p in perplexity]}  # type: ignore[arg-type, union-attr]
    if width is not None:
        if perplexity is not None:
            raise ValueError("neighbourhoods have a perplexity or a width, not both")
        options["affinity"] = {"width": float(width)}
    if distances and similarities is not None:
        raise ValueError("X holds distances or similarities, not both")
    native = _native.map_rows(
        method,
        (n_dimensions, n_landmarks),
        json.dumps(options),
        (None if model is None else model._model, n_components, list(prepare)),
        rows,
        known,
        "distances" if distances else similarities,
        None if names is None else [str(name) for name in names],
        None if checkpoint is None else os.fspath(checkpoint),
        resume,
        seed_of(random_state),
        threads_of(n_jobs),
    )
    return Map(native, missing)


class _Given(BaseEstimator):
    """Keeps what scikit-learn's checks tell of rows."""

    def __init__(self, missing: str | None) -> None:
        self.missing = missing


def _rows(X: Any, missing: str | None, y: ArrayLike | None = None) -> tuple[Any, Known]:
    given = _Given(missing)
    rows = rows_of(given, X, reset=True)
    count = len(rows[0]) - 1 if isinstance(rows, tuple) else rows.shape[0]
    names = getattr(given, "feature_names_in_", None)
    return rows, Known(
        names=None if names is None else [str(name) for name in names],
        labels=None if y is None else labels_of(y, count),
    )


def _from_bytes(content: bytes, missing: str | None) -> Map:
    return Map(_native.Map.from_bytes(content), missing)
