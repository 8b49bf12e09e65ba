"""What users give as rows, labels and weights, as the native half takes it: without copies where types allow."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native

# scikit-learn is loaded where it is needed: workers of a cluster, who only answer, do without.

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


class Known(NamedTuple):
    """What is known about rows beside their cells."""

    names: list[str] | None = None
    weights: NDArray[np.float64] | None = None
    labels: tuple[list[str], NDArray[np.int32]] | None = None
    picture: tuple[int, int, int] | None = None


NOTHING = Known()


def is_ready(X: Any) -> bool:
    """Whether the native half can take this as it is."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype in _FLOATS
        and X.flags.c_contiguous
        and X.flags.aligned
        and X.shape[0] > 0
    )


def ready(X: Any, dtype: Any = None) -> NDArray[Any]:
    """An array as the native half takes it: in C order and aligned, which what came over a network need not be."""
    return np.require(X, dtype=dtype, requirements=["C_CONTIGUOUS", "ALIGNED"])


def rows_of(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Rows as the native half takes them; scikit-learn's checks are made on the way."""
    if not reset and is_ready(X) and not hasattr(estimator, "feature_names_in_"):
        if X.shape[1] == estimator.n_features_in_:
            return X
    if (hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__")) and not _is_pandas(X):
        cells, names, _, _ = _native.arrow_rows(X, None, None)
        _check_names(estimator, cells.shape[1], names, reset=reset)
        return cells
    from sklearn.utils.validation import validate_data

    X = validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr" if estimator.missing is not None else False,
        dtype=[np.float64, np.float32],
        order="C",
        ensure_all_finite=False,
    )
    return _sparse(X, estimator.missing) if hasattr(X, "indptr") else ready(X)


def _is_pandas(X: Any) -> bool:
    return type(X).__module__.partition(".")[0] == "pandas"


def _check_names(estimator: Any, columns: int, names: list[str] | None, *, reset: bool) -> None:
    """What scikit-learn does with the columns of tables that it knows."""
    if reset:
        estimator.n_features_in_ = columns
        if names is not None:
            estimator.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        return
    name = type(estimator).__name__
    if columns != estimator.n_features_in_:
        raise ValueError(f"X has {columns} features, but {name} is expecting {estimator.n_features_in_} features as input")
    known = getattr(estimator, "feature_names_in_", None)
    if names is not None and known is not None and list(known) != names:
        raise ValueError("The feature names should match those that were passed during fit.")


def _sparse(X: Any, missing: str) -> tuple[Any, ...]:
    """The arrays of a compressed-row matrix."""
    if missing not in ("unobserved", "zero"):
        raise ValueError(f"missing must be 'unobserved' or 'zero', not {missing!r}")
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return (X.indptr, X.indices, X.data, X.shape[1], missing)


def weights_of(sample_weight: ArrayLike | None, X: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Weights as an array, or nothing."""
    if sample_weight is None:
        return None
    from sklearn.utils.validation import _check_sample_weight

    stand_in = np.empty((n_rows, 1)) if isinstance(X, tuple) else X
    checked = _check_sample_weight(sample_weight, stand_in, dtype=np.float64)
    return ready(checked, np.float64)


def labels_of(y: ArrayLike, n_rows: int) -> tuple[list[str], NDArray[np.int32]] | None:
    """Labels as names and numbers; NaN, None and -1 are rows without a label."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        from sklearn.utils.validation import check_array

        labels = check_array(labels, ensure_2d=False, dtype=None).ravel()
    if labels.shape[0] != n_rows:
        raise ValueError(f"y has {labels.shape[0]} labels for {n_rows} rows")
    numeric = labels.dtype.kind in "iufb"
    if numeric:
        known = ~np.isnan(labels) & (labels != -1) if labels.dtype.kind == "f" else labels != -1
    else:
        known = np.array([not (x is None or x != x or (isinstance(x, (int, float)) and x == -1)) for x in labels])
    texts = _texts(labels[known])
    names, inverse = np.unique(texts, return_inverse=True)
    numbers = np.full(n_rows, -1, dtype=np.int32)
    numbers[known] = inverse.astype(np.int32)
    return [str(name) for name in names], numbers


def _texts(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels as files have them: 1.0 is 1."""
    if labels.dtype.kind == "f" and np.all(labels == np.round(labels)):
        labels = labels.astype(np.int64)
    return np.array([str(label) for label in labels], dtype=object).astype(str)


def picture_of(picture: Any) -> tuple[int, int, int] | None:
    """Height, width and channels; grey if nobody says."""
    if picture is None:
        return None
    sizes = tuple(int(size) for size in picture)
    if len(sizes) == 2:
        sizes = (*sizes, 1)
    if len(sizes) != 3:
        raise ValueError(f"picture must be (height, width) or (height, width, channels), not {picture!r}")
    return sizes


def seed_of(random_state: Any) -> int:
    """The seed: a number is itself, None is 0, a generator is drawn from."""
    if random_state is None:
        return 0
    if isinstance(random_state, (int, np.integer)):
        if random_state < 0:
            raise ValueError(f"random_state must be at least 0, not {random_state}")
        return int(random_state)
    draw = getattr(random_state, "integers", None) or random_state.randint
    return int(draw(0, 2**31 - 1))


def threads_of(n_jobs: int | None) -> int:
    """Threads as the native half counts them: 0 is all cores."""
    if n_jobs is None:
        return 1
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0")
    if n_jobs == -1:
        return 0
    return n_jobs if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + n_jobs)
