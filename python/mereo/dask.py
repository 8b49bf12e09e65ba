"""The same fit on a Dask cluster: the same bytes as on a laptop.

Workers read their own rows and answer every question of the learning loop with additive statistics, as bytes; the
client merges these in a tree that depends on the data alone, and re-estimates. How many workers there are, which of them
looked at which rows, whether one died or joined in the middle: none of it changes a bit of the model.

Examples
--------
>>> import numpy as np
>>> import dask.array
>>> from distributed import Client
>>> from mereo import KMeans
>>> from mereo.dask import fit
>>> X = np.random.default_rng(0).normal(size=(5000, 4))
>>> with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
...     there = fit(client, KMeans(n_states=3), dask.array.from_array(X, chunks=(1000, 4)))
>>> here = KMeans(n_states=3).fit(X)
>>> bool((there.means_ == here.means_).all())
True
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._data import Known, labels_of, picture_of, ready

if TYPE_CHECKING:
    from ._estimator import Estimator

__all__ = ["fit", "predict", "reconstruct", "score_samples", "transform"]

#: Cells that one task looks at, about: what a worker holds of the rows at a time.
_TASK_CELLS = 1 << 24

#: Tasks of a pass for each thread of the cluster, if there are as many runs: few, since each has a price of its own, but not so
#: few that somebody waits for the slowest.
_TASKS_PER_THREAD = 2

#: Answers that one task puts together: a power of two, so that they are put together as everywhere.
_FAN_IN = 16

#: How often a shard is tried again on other workers after the one that held it died.
_RETRIES = 10


class _Piece(NamedTuple):
    """Rows that are read together: a row group of a file, or a partition."""

    rows: int
    read: Any
    """What a worker reads them from: a description, or a future of another task."""


class _Rows(NamedTuple):
    """Rows on a cluster."""

    pieces: list[_Piece]
    columns: int
    names: list[str] | None
    single: bool
    classes: list[str] | None
    label: str | None
    weight: str | None

    @property
    def rows(self) -> int:
        return sum(piece.rows for piece in self.pieces)


def fit(
    client: Any,
    estimator: Estimator,
    data: Any,
    *,
    label: str | None = None,
    weight: str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    storage_options: dict[str, Any] | None = None,
) -> Any:
    """Learn from rows on a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    estimator : estimator
        What to learn; it is fitted, as by its own ``fit``.
    data : str, list of str, dask.dataframe.DataFrame or dask.array.Array
        Rows: addresses of Parquet files that workers can read (``*`` is expanded; anything that fsspec knows, such as
        ``s3://``), or a Dask collection.
    label : str, optional
        The column that holds each row's class, for estimators with ``n_classes='labels'``.
    weight : str, optional
        The column that holds each row's weight.
    checkpoint : path, optional
        Keeps the state of learning in this file, on the client, after every pass.
    resume : bool, default=False
        Goes on from the checkpoint, if it is there, to the very model that would have been learned.
    storage_options : dict, optional
        What fsspec needs for the addresses.

    Returns
    -------
    estimator
        The estimator, fitted: the same model, byte for byte, as of the same rows in memory.

    Notes
    -----
    A model that remembers rows from pass to pass (gates of single rows, Gibbs sampling) refuses by name.
    """
    rows = _rows(client, data, label, weight, storage_options or {})
    if rows.rows == 0:
        raise ValueError("there are no rows")
    return _fit(client, estimator, rows, checkpoint, resume)


def _fit(client: Any, estimator: Estimator, rows: _Rows, checkpoint: Any, resume: bool) -> Any:
    if hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    if rows.names is not None:
        estimator.feature_names_in_ = np.array(rows.names, dtype=object)
    labels = None if rows.classes is None else (rows.classes, np.empty(0, dtype=np.int32))
    known = Known(names=rows.names, labels=labels, picture=picture_of(estimator.picture))
    chosen = estimator._chosen(checkpoint=checkpoint, resume=resume, every=0.0)
    ask = _Asker(client, rows)
    with estimator._watching() as told:
        model, error = _native.fit_elsewhere(chosen, rows.rows, rows.columns, rows.single, known, ask, told)
    return estimator._keep(model, error)


class _Asker:
    """Asks a cluster: one task holds what is asked, others look at some rows each and answer for their runs of shards."""

    def __init__(self, client: Any, rows: _Rows) -> None:
        self.client = client
        self.rows = rows
        self.ends = np.cumsum([piece.rows for piece in rows.pieces])
        low, high = _native.rows_of(rows.rows, rows.columns, 0, 1)
        #: Shards that one task looks at, at most.
        self.shards = max(1, _TASK_CELLS // max(1, (high - low) * rows.columns))

    def __call__(self, request: bytes, runs: list[tuple[int, int]]) -> list[bytes]:
        # The question travels as a task's result: what a lost worker held of it is made again from the graph, which a
        # scattered value is not.
        held = self.client.submit(_hold, request, pure=False, retries=_RETRIES)
        large = runs and runs[0][1] - runs[0][0] > self.shards
        # Each task reads the question and prepares for looking: few of them, as long as all workers have work.
        tasks = [self._run(held, run) for run in runs] if large else [self._task(held, group) for group in self._groups(runs)]
        return [answer for answers in self.client.gather(tasks) for answer in answers]

    def _groups(self, runs: list[tuple[int, int]]) -> list[list[tuple[int, int]]]:
        """Runs that one task answers for together; answers do not depend on it."""
        threads = max(1, sum(self.client.nthreads().values()))
        each = max(1, len(runs) // (_TASKS_PER_THREAD * threads))
        groups: list[list[tuple[int, int]]] = []
        for run in runs:
            full = not groups or len(groups[-1]) >= each or run[1] - groups[-1][0][0] > self.shards
            if full:
                groups.append([])
            groups[-1].append(run)
        return groups

    def _run(self, held: Any, run: tuple[int, int]) -> Any:
        """The answer of a large run: of tasks that hold little each, put together in the fixed tree by other tasks."""
        start, end = run
        each = 1 << (self.shards.bit_length() - 1)
        answers = [self._task(held, [(at, min(at + each, end))]) for at in range(start, end, each)]
        while len(answers) > 1:
            answers = [
                self.client.submit(_merge, held, answers[at : at + _FAN_IN], pure=False, retries=_RETRIES)
                for at in range(0, len(answers), _FAN_IN)
            ]
        return answers[0]

    def _task(self, held: Any, runs: list[tuple[int, int]]) -> Any:
        about = (self.rows.classes, self.rows.label, self.rows.weight)
        rows, columns, single = self.rows.rows, self.rows.columns, self.rows.single
        cuts = self._cuts((runs[0][0], runs[-1][1]))
        return self.client.submit(
            _answer, held, runs, rows, columns, cuts, single, about, pure=False, retries=_RETRIES
        )

    def _cuts(self, run: tuple[int, int]) -> list[tuple[int, int, Any]]:
        """Which rows of which pieces a run of shards covers."""
        start, end = _native.rows_of(self.rows.rows, self.rows.columns, *run)
        first = int(np.searchsorted(self.ends, start, side="right"))
        cuts = []
        for index in range(first, len(self.ends)):
            piece = self.rows.pieces[index]
            begins = int(self.ends[index]) - piece.rows
            if begins >= end:
                break
            if piece.rows:
                cuts.append((max(start - begins, 0), min(end - begins, piece.rows), piece.read))
        return cuts


# What workers do


def _hold(request: bytes) -> bytes:
    return request


def _merge(request: bytes, answers: list[list[bytes]]) -> list[bytes]:
    return answers[0] if len(answers) == 1 else [_native.merge(request, [answer for one in answers for answer in one])]


def _answer(
    request: bytes,
    runs: list[tuple[int, int]],
    rows: int,
    columns: int,
    cuts: list[tuple[int, int, Any]],
    single: bool,
    about: tuple[list[str] | None, str | None, str | None],
) -> list[bytes]:
    """What runs of shards that lie side by side tell."""
    classes, label, weight = about
    dtype = np.float32 if single else np.float64
    parts = [_read(source, start, end, label, weight) for start, end, source in cuts]
    cells = [np.asarray(part[0], dtype=dtype) for part in parts]
    whole = ready(cells[0] if len(cells) == 1 else np.concatenate(cells))
    if whole.shape[1] != columns:
        raise ValueError(f"rows of {whole.shape[1]} columns among rows of {columns}")
    known = Known(
        weights=None if weight is None else np.concatenate([part[2] for part in parts]).astype(np.float64),
        labels=None if classes is None else (classes, _numbers(classes, [part[1] for part in parts])),
    )
    first, _ = _native.rows_of(rows, columns, *runs[0])
    return _native.answer(request, rows, first, runs, whole, known)


def _numbers(classes: list[str], parts: Sequence[tuple[list[str], NDArray[np.int32]]]) -> NDArray[np.int32]:
    number = {name: index for index, name in enumerate(classes)}
    out = []
    for names, of_row in parts:
        to = np.array([*(number[name] for name in names), -1], dtype=np.int32)
        out.append(to[of_row])
    return np.concatenate(out)


def _read(source: Any, start: int, end: int, label: str | None, weight: str | None) -> tuple[Any, Any, Any]:
    """Rows of a piece: cells, labels and weights."""
    if isinstance(source, dict):
        cells, labels, weights = _read_group(source, label, weight)
    else:
        cells, labels, weights = _of_frame(source, label, weight)
    if labels is not None:
        labels = (labels[0], np.asarray(labels[1], dtype=np.int32)[start:end])
    return cells[start:end], labels, None if weights is None else np.asarray(weights)[start:end]


def _read_group(source: dict[str, Any], label: str | None, weight: str | None) -> tuple[Any, Any, Any]:
    import fsspec
    import pyarrow.parquet

    with fsspec.open(source["path"], "rb", **source["options"]) as file:
        table = pyarrow.parquet.ParquetFile(file).read_row_group(source["group"])
    cells, _, labels, weights = _native.arrow_rows(table, label, weight)
    return cells, labels, weights


def _of_frame(frame: Any, label: str | None, weight: str | None) -> tuple[Any, Any, Any]:
    """A partition of a collection: an array, or a pandas table."""
    if isinstance(frame, np.ndarray):
        return frame, None, None
    labels = None if label is None else labels_of(frame[label].to_numpy(), len(frame))
    weights = None if weight is None else frame[weight].to_numpy(dtype=np.float64)
    cells = frame.drop(columns=[name for name in (label, weight) if name is not None])
    dtype = np.float32 if all(kind == np.float32 for kind in cells.dtypes) else np.float64
    return cells.to_numpy(dtype=dtype, na_value=np.nan), labels, weights


# What the client finds out before it asks


def _rows(client: Any, data: Any, label: str | None, weight: str | None, options: dict[str, Any]) -> _Rows:
    if isinstance(data, (str, os.PathLike)) or (isinstance(data, (list, tuple)) and data):
        paths = [data] if isinstance(data, (str, os.PathLike)) else list(data)
        return _parquet(client, [os.fspath(path) for path in paths], label, weight, options)
    if hasattr(data, "chunks") and hasattr(data, "dtype"):
        return _array(client, data, label, weight)
    if hasattr(data, "partitions") or hasattr(data, "to_delayed"):
        return _frame(client, data, label, weight)
    raise TypeError(f"rows on a cluster are Parquet addresses or a Dask collection, not {type(data).__name__}")


def _parquet(client: Any, paths: list[str], label: str | None, weight: str | None, options: dict[str, Any]) -> _Rows:
    import fsspec

    files: list[str] = []
    for path in paths:
        fs, _, found = fsspec.get_fs_token_paths(path, storage_options=options)
        if len(found) == 1 and fs.isdir(found[0]):
            found = fs.glob(found[0].rstrip("/") + "/*.parquet")
        files += [fs.unstrip_protocol(name) for name in sorted(found)]
    if not files:
        raise FileNotFoundError(f"no Parquet file is at {', '.join(paths)}")
    told = client.gather([client.submit(_file_facts, path, options, label, weight, pure=False) for path in files])
    pieces, schema = [], None
    for path, (names, single, groups) in zip(files, told, strict=True):
        if not groups:
            continue
        if schema is None:
            schema = (names, single)
        elif schema[0] != names:
            raise ValueError(f"{path}: its columns are not those of {files[0]}")
        elif schema[1] != single:
            schema = (names, False)
        for group, rows in enumerate(groups):
            pieces.append(_Piece(rows, {"path": path, "group": group, "options": options}))
    if schema is None:
        raise ValueError(f"no row is in {', '.join(paths)}")
    names, single = schema
    classes = None
    if label is not None:
        asked = [client.submit(_group_classes, piece.read, label, weight, pure=False) for piece in pieces]
        classes = _merged(client.gather(asked))
    numbered = names == [str(i) for i in range(len(names))]
    return _Rows(pieces, len(names), None if numbered else names, single, classes, label, weight)


def _file_facts(path: str, options: dict[str, Any], label: str | None, weight: str | None) -> tuple[list[str], bool, list[int]]:
    import fsspec
    import pyarrow
    import pyarrow.parquet

    with fsspec.open(path, "rb", **options) as file:
        about = pyarrow.parquet.ParquetFile(file)
        groups = [about.metadata.row_group(i).num_rows for i in range(about.num_row_groups)]
        if about.metadata.num_rows == 0:
            return [], True, []
        # One row tells the type of cells and the names of columns, as readers of the library see them.
        first = pyarrow.Table.from_batches([next(about.iter_batches(batch_size=1))])
    cells, names, _, _ = _native.arrow_rows(first, label, weight)
    names = names or [str(i) for i in range(cells.shape[1])]
    return names, cells.dtype == np.float32, groups


def _group_classes(source: dict[str, Any], label: str, weight: str | None) -> list[str]:
    return _read_group(source, label, weight)[1][0]


def _part_facts(part: Any, label: str | None, weight: str | None) -> tuple[int, list[str] | None]:
    names = None if label is None else _of_frame(part, label, weight)[1][0]
    return len(part), names


def _merged(all_names: list[list[str]]) -> list[str]:
    """Names of all classes, in the order in which files have them."""
    names = {name for names in all_names for name in names}
    try:
        return sorted(names, key=lambda name: (float(name), name))
    except ValueError:
        return sorted(names)


def _partitions(client: Any, data: Any) -> list[Any]:
    """Futures of partitions: kept on the cluster, and made again from their graph if a worker dies."""
    return client.compute([part for part in np.ravel(data.to_delayed())], retries=_RETRIES)


def _array(client: Any, data: Any, label: str | None, weight: str | None) -> _Rows:
    if label is not None or weight is not None:
        raise ValueError("columns of an array have no names: labels and weights need a table")
    if data.ndim != 2:
        raise ValueError(f"rows must have two dimensions, not {data.ndim}")
    data = data.rechunk({1: data.shape[1]})
    single = data.dtype == np.float32
    parts = _partitions(client, data)
    lengths = [rows for rows, _ in client.gather([client.submit(_part_facts, p, None, None) for p in parts])]
    pieces = [_Piece(rows, part) for rows, part in zip(lengths, parts, strict=True)]
    return _Rows(pieces, int(data.shape[1]), None, single, None, None, None)


def _frame(client: Any, data: Any, label: str | None, weight: str | None) -> _Rows:
    extra = {name for name in (label, weight) if name is not None}
    lacking = extra - set(data.columns)
    if lacking:
        raise ValueError(f"there is no column {sorted(lacking)[0]!r}")
    names = [str(name) for name in data.columns if name not in extra]
    single = all(kind == np.float32 for name, kind in data.dtypes.items() if name not in extra)
    parts = _partitions(client, data)
    told = client.gather([client.submit(_part_facts, part, label, weight) for part in parts])
    pieces = [_Piece(rows, part) for (rows, _), part in zip(told, parts, strict=True)]
    classes = None if label is None else _merged([names or [] for _, names in told])
    return _Rows(pieces, len(names), names, single, classes, label, weight)


# Questions, lazily, partition by partition


def transform(estimator: Estimator, data: Any) -> Any:
    """Codes of the rows of a Dask collection, lazily.

    Parameters
    ----------
    estimator : estimator
        A fitted one.
    data : dask.dataframe.DataFrame or dask.array.Array
        Rows.

    Returns
    -------
    dask.dataframe.DataFrame or dask.array.Array
        Nothing is computed before it is asked for.
    """
    return _lazily(estimator, "transform", data, list(estimator.get_feature_names_out()))


def score_samples(estimator: Estimator, data: Any) -> Any:
    """Log densities of the rows of a Dask collection, lazily."""
    return _lazily(estimator, "score_samples", data, None)


def predict(estimator: Estimator, data: Any) -> Any:
    """What rows of a Dask collection are, lazily: classes, or components."""
    return _lazily(estimator, "predict", data, None)


def reconstruct(estimator: Estimator, data: Any, *, fill: bool = True) -> Any:
    """Rows of a Dask collection with their missing values filled, lazily."""
    names = getattr(estimator, "feature_names_in_", None)
    columns = [str(i) for i in range(estimator.n_features_in_)] if names is None else list(names)
    return _lazily(estimator, "reconstruct", data, columns, fill=fill)


def _lazily(estimator: Estimator, method: str, data: Any, columns: list[str] | None, **options: Any) -> Any:
    if hasattr(data, "chunks") and hasattr(data, "dtype"):
        data = data.rechunk({1: data.shape[1]})
        if columns is None:
            return data.map_blocks(_ask_array, estimator, method, options, drop_axis=1, dtype=np.float64)
        chunks = (data.chunks[0], (len(columns),))
        return data.map_blocks(_ask_array, estimator, method, options, chunks=chunks, dtype=data.dtype)
    if columns is None:
        return data.map_partitions(_ask_frame, estimator, method, options, None, meta=(method, "f8"))
    meta = {name: "f8" for name in columns}
    return data.map_partitions(_ask_frame, estimator, method, options, columns, meta=meta)


def _ask_array(block: NDArray[Any], estimator: Any, method: str, options: dict[str, Any]) -> NDArray[Any]:
    return getattr(estimator, method)(ready(block), **options)


def _ask_frame(frame: Any, estimator: Any, method: str, options: dict[str, Any], columns: list[str] | None) -> Any:
    import pandas as pd

    if len(frame) == 0:
        made: Any = np.empty((0,) if columns is None else (0, len(columns)))
    else:
        made = getattr(estimator, method)(frame, **options)
    if columns is None:
        return pd.Series(np.asarray(made, dtype=np.float64), index=frame.index, name=method)
    return pd.DataFrame(np.asarray(made, dtype=np.float64), index=frame.index, columns=columns)
