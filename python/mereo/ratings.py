"""Ratings: what a model that was learned from them says about people and items.

A model learns from ratings as a sparse matrix with a row for each person: ``missing="unobserved"`` says that what is not
stored is not known. People need not be those that it learned from: a code is found for the ratings given.

Examples
--------
>>> import numpy as np
>>> from scipy.sparse import csr_array
>>> from mereo import MCVQ
>>> from mereo.datasets import toy
>>> from mereo.ratings import ask, predict, recommend
>>> X = toy("ratings", n_rows=200).data
>>> rows, columns = np.nonzero(~np.isnan(X))
>>> ratings = csr_array((X[rows, columns], (rows, columns)), shape=X.shape)
>>> model = MCVQ(n_parts=2, n_states=3, n_init=1, max_iter=10, missing="unobserved").fit(ratings)
>>> me = {0: 5.0, 1: 1.0}
>>> best = recommend(model, me, n_items=3)
>>> len(best), all(item["item"] not in ("0", "1") for item in best)
(3, True)
>>> 1 <= predict(model, me, [2])[0]["mean"] <= 5
True
>>> sorted(ask(model, me))
['deviation', 'item', 'known', 'mean', 'median', 'title', 'worth']
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from . import _native
from ._data import seed_of, threads_of

__all__ = ["ask", "predict", "recommend"]


def recommend(model: Any, ratings: Any, n_items: int = 10, *, least_known: float | None = None) -> Any:
    """The items that people may like best, and why: none that they rated.

    Parameters
    ----------
    model : estimator
        One that was learned from ratings.
    ratings : mapping, or array-like or sparse matrix of shape (n_items,) or (n_people, n_items)
        What is known: of one person a dict of items (titles, ids or numbers of columns) and ratings, or a row with NaN
        where nothing is known; of several a matrix.
    n_items : int, default=10
        How many items to recommend to each.
    least_known : float, optional
        Only what this many people rated; one in fifty, from 5 to 50, if None.

    Returns
    -------
    list of dict, or a list of such lists if several people are asked about
        ``item``, ``title``, ``mean``, ``median``, ``deviation``, ``ratings`` (how many people rated it), ``part``, ``state`` and
        ``probability`` if the model has parts with states, and ``because``: own ratings that speak for it.
    """
    people, one = _people(model, ratings)
    items = _native.ratings_items(model._model)
    threads = threads_of(model.n_jobs)
    all_told = []
    for person in people:
        best = _native.ratings_recommend(model._model, person, n_items, least_known, threads)
        all_told.append([_recommended(items, *item) for item in best])
    return all_told[0] if one else all_told


def predict(model: Any, ratings: Any, items: Iterable[Any]) -> list[dict[str, Any]]:
    """What people may think of items. A rating given of the very item is not looked at.

    Parameters
    ----------
    model : estimator
        One that was learned from ratings.
    ratings : mapping, or array-like or sparse matrix of shape (n_items,) or (n_people, n_items)
        What is known, as for `recommend`.
    items : iterable
        Of one person items (titles, ids or numbers of columns); of several, pairs of a row's number and an item.

    Returns
    -------
    list of dict
        ``item``, ``title``, ``mean`` (it makes squared errors small), ``median`` (it makes absolute ones small), ``deviation``, and
        ``levels``: how likely each level of the scale is, if it has few.
    """
    people, one = _people(model, ratings)
    asked = list(items)
    rows = [0] * len(asked) if one else [int(row) for row, _ in asked]
    columns = _columns(model, asked if one else [item for _, item in asked])
    pairs = list(zip(rows, columns, strict=True))
    levels, _, _ = _native.ratings_scale(model._model)
    guesses = _native.ratings_predict(model._model, people, pairs, threads_of(model.n_jobs))
    named = _native.ratings_items(model._model)
    told = []
    for column, guess in zip(columns, guesses, strict=True):
        shown = _item(named, column) | _guess(guess)
        if guess[3]:
            shown["levels"] = dict(zip(levels, guess[3], strict=True))
        told.append(shown)
    return told


def ask(
    model: Any,
    ratings: Any = None,
    *,
    unknown: Iterable[Any] = (),
    worth: str = "recommendations",
    among: Iterable[Any] | None = None,
    n_items: int = 10,
    least_known: float | None = None,
    random_state: Any = None,
) -> dict[str, Any] | None:
    """The question to somebody that is worth most now.

    Parameters
    ----------
    model : estimator
        One that was learned from ratings.
    ratings : mapping or array-like of shape (n_items,), optional
        What is known of the person already.
    unknown : iterable, optional
        Items that were asked about and that the person does not know.
    worth : {'recommendations', 'entropy', 'popular', 'random'}, default='recommendations'
        What makes a question worth asking: how much better the recommended items are expected to be, how uncertain the
        answer is, how many people know the item, or nothing.
    among : iterable, optional
        The only items to ask about.
    n_items : int, default=10
        How many recommendations questions are about.
    least_known : float, optional
        Ask only about what this many people rated; one in fifty, from 5 to 50, if None.
    random_state : int, RandomState or None, default=None
        The seed of ``worth='random'``.

    Returns
    -------
    dict or None
        ``item``, ``title``, ``worth``, ``known`` (the chance that the person knows it), and what is expected: ``mean``, ``median``,
        ``deviation``. None if nothing is left to ask.
    """
    people, one = _people(model, {} if ratings is None else ratings)
    if not one:
        raise ValueError("questions are for one person at a time")
    question = _native.ratings_ask(
        model._model,
        people[0],
        _columns(model, unknown),
        worth,
        None if among is None else _columns(model, among),
        (n_items, least_known),
        seed_of(random_state),
        threads_of(model.n_jobs),
    )
    if question is None:
        return None
    column, value, known, guess = question
    return _item(_native.ratings_items(model._model), column) | {"worth": value, "known": known} | _guess(guess)


def _people(model: Any, ratings: Any) -> tuple[list[list[tuple[int, float]]], bool]:
    """Columns and ratings of each person, and whether it was one who was given by themselves."""
    if isinstance(ratings, Mapping):
        columns = _columns(model, ratings)
        return [[(c, float(r)) for c, r in zip(columns, ratings.values(), strict=True)]], True
    if hasattr(ratings, "tocsr"):
        ratings = ratings.tocsr() if ratings.ndim == 2 else ratings.reshape(1, -1).tocsr()
        _check(model, ratings.shape[1])
        cuts = zip(ratings.indptr[:-1], ratings.indptr[1:], strict=True)
        pairs = ((ratings.indices[a:b].tolist(), ratings.data[a:b].tolist()) for a, b in cuts)
        return [list(zip(c, r, strict=True)) for c, r in pairs], False
    rows = np.asarray(ratings, dtype=np.float64)
    one = rows.ndim == 1
    rows = np.atleast_2d(rows)
    if rows.ndim != 2:
        raise ValueError(f"ratings must be a row or rows of them, not of {rows.ndim} dimensions")
    _check(model, rows.shape[1])
    return [[(int(c), float(row[c])) for c in np.flatnonzero(~np.isnan(row))] for row in rows], one


def _check(model: Any, columns: int) -> None:
    if columns != model.n_features_in_:
        raise ValueError(f"ratings of {columns} items for a model of {model.n_features_in_}")


def _columns(model: Any, items: Iterable[Any]) -> list[int]:
    """The number of each item's column."""
    items = list(items)
    names = [str(item) for item in items]
    found = _native.ratings_columns(model._model, names) if names else []
    columns = []
    for item, column in zip(items, found, strict=True):
        if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
            if item < 0:
                raise ValueError(f"the model has no item {item!r}")
            column = int(item)
        if column is None:
            raise ValueError(f"the model has no item {item!r}")
        columns.append(column)
    return columns


def _item(items: list[tuple[str, str]], column: int) -> dict[str, Any]:
    key, title = items[column]
    return {"item": key, "title": title}


def _guess(guess: tuple[float, float, float, list[float]]) -> dict[str, Any]:
    mean, median, deviation, _ = guess
    return {"mean": mean, "median": median, "deviation": deviation}


def _recommended(
    items: list[tuple[str, str]],
    column: int,
    guess: tuple[float, float, float, list[float]],
    count: float,
    state: tuple[int, int, float] | None,
    because: list[tuple[int, float, float]],
) -> dict[str, Any]:
    told = _item(items, column) | _guess(guess) | {"ratings": count}
    if state is not None:
        told["part"], told["state"], told["probability"] = state
    told["because"] = [_item(items, c) | {"rating": rating, "effect": effect} for c, rating, effect in because]
    return told
