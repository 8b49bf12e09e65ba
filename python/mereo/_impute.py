"""Filling holes with any model."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ._data import NOTHING, seed_of, threads_of


class Imputer(TransformerMixin, MetaEstimatorMixin, BaseEstimator):
    """Fill missing values with what a model expects in them.

    Parameters
    ----------
    estimator : estimator
        Any estimator of mereo that reconstructs; it is cloned.
    add_indicator : bool, default=False
        Whether to add a column for each that had missing values in ``fit``, 1 where the value is missing.

    Attributes
    ----------
    estimator_ : estimator
        The fitted one.
    indicator_columns_ : ndarray of int
        Columns that had missing values in ``fit``.

    Examples
    --------
    >>> import numpy as np
    >>> from mereo import FactorAnalysis, Imputer
    >>> X = np.arange(30.0).reshape(10, 3)
    >>> X[4, 1] = np.nan
    >>> filled = Imputer(FactorAnalysis(n_components=1)).fit_transform(X)
    >>> bool(abs(filled[4, 1] - 13) < 0.1)
    True
    """

    def __init__(self, estimator: Any, *, add_indicator: bool = False) -> None:
        self.estimator = estimator
        self.add_indicator = add_indicator

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the model that fills.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with NaN where a value is missing.
        y : array-like, optional
            Labels, for a model that uses them.
        sample_weight : array-like, optional
            Weights of rows.
        """
        self.estimator_ = clone(self.estimator).fit(X, y, sample_weight)
        self.n_features_in_ = self.estimator_.n_features_in_
        if hasattr(self.estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.estimator_.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        holes = np.isnan(self._dense(X))
        self.indicator_columns_ = np.flatnonzero(holes.any(axis=0))
        return self

    def _dense(self, X: Any) -> NDArray[Any]:
        rows = self.estimator_._ask(X)
        if isinstance(rows, tuple):
            if rows[4] == "zero":
                raise ValueError("no value of a sparse matrix whose unstored cells are zero is missing")
            starts, indices, values, columns, _ = rows
            full = np.full((len(starts) - 1, columns), np.nan, dtype=values.dtype)
            full[np.repeat(np.arange(len(starts) - 1), np.diff(starts)), indices] = values
            return full
        return rows

    def transform(self, X: Any) -> NDArray[Any]:
        """Fill the missing values of rows; observed ones stay as they are.

        Returns
        -------
        ndarray of shape (n_samples, n_features + n_indicators)
        """
        check_is_fitted(self)
        filled = self.estimator_.reconstruct(X, fill=True)
        if not self.add_indicator:
            return filled
        holes = np.isnan(self._dense(X))[:, self.indicator_columns_]
        return np.hstack([filled, holes.astype(filled.dtype)])

    def draws(self, X: Any, n_draws: int = 5, *, random_state: Any = None) -> NDArray[Any]:
        """Fill the missing values several times, drawn from what the model says of them together, given the observed ones:
        multiple imputation.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with NaN where a value is missing.
        n_draws : int, default=5
            How many times.
        random_state : int, RandomState or None, default=None
            The seed; that of the estimator if None.

        Returns
        -------
        ndarray of shape (n_draws, n_samples, n_features)
        """
        check_is_fitted(self)
        inner = self.estimator_
        rows = inner._ask(X)
        seed = seed_of(inner.random_state if random_state is None else random_state)
        threads = threads_of(inner.n_jobs)
        return np.stack([inner._model.draw_missing(rows, NOTHING, draw, seed, threads) for draw in range(n_draws)])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns, and of the indicators after them."""
        check_is_fitted(self)
        from sklearn.utils.validation import _check_feature_names_in

        names = _check_feature_names_in(self, input_features)
        if not self.add_indicator:
            return names
        added = [f"missingindicator_{names[column]}" for column in self.indicator_columns_]
        return np.concatenate([names, np.array(added, dtype=object)])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.positive_only = inner.input_tags.positive_only
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
