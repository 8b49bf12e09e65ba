"""What all estimators have: fit, and every question that the model can answer."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from . import _native
from ._data import NOTHING, Known, labels_of, picture_of, ready, rows_of, seed_of, threads_of, weights_of
from ._progress import Bar, observer
from ._registration import NON_NEGATIVE

if TYPE_CHECKING:
    from ._registration import Kind

#: Tensors that list many of something have names in the plural.
_PLURAL = {"mean": "means", "component": "components", "weight": "weights", "variance": "variances"}


class Chosen(NamedTuple):
    """What was chosen for a fit, in the library's words."""

    kind: str
    options: str
    restarts: int
    passes: int
    tolerance: float
    seed: int
    average: int
    threads: int
    checkpoint: str | None
    checkpoint_every: float
    resume: bool


_Method = TypeVar("_Method", bound=Callable[..., Any])


def _available(check: Callable[[Any], bool]) -> Callable[[_Method], _Method]:
    """A method that is there only for some models; its type stays what it is."""
    return available_if(check)


def _can(verb: str) -> Callable[[Any], bool]:
    """Whether a kind of model has a capability."""
    return lambda self: verb in self._kind.capabilities


def _predicts(self: Any) -> bool:
    """Whether rows can be told apart by states, components or classes."""
    if self._uses_classes() or "layers" in self._kind.capabilities:
        return True
    # Parts with factors have no states that one of could be chosen.
    options = {param.option for param in self._kind.params}
    return {"parts", "encode"} <= self._kind.capabilities and not {"parts", "factors"} <= options


def _has_probabilities(self: Any) -> bool:
    """Whether a row has probabilities of one choice: a class, or a component."""
    if self._uses_classes():
        return True
    many = any(param.option == "parts" for param in self._kind.params)
    return _predicts(self) and not many


class Estimator(TransformerMixin, BaseEstimator):
    """What all estimators of mereo have. Not made by itself: its subclasses come from the models' registration."""

    _kind: ClassVar[Kind]

    # Learning

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = False,
    ) -> Self:
        """Learn from rows.

        Ctrl-C, and an exception of the callback, are raised after the best model so far was kept.

        Parameters
        ----------
        X : array-like, sparse matrix or table of shape (n_samples, n_features)
            The rows; NaN is a missing value, infinity an error. C-ordered float32 and float64 arrays, memory-mapped ones
            too, are not copied, nor are compressed-row matrices with 32-bit indices.
        y : array-like of shape (n_samples,), optional
            Labels, used if ``n_classes='labels'``; NaN, None and -1 are rows without a label.
        sample_weight : array-like of shape (n_samples,), optional
            2 is the row twice, 0 the row removed.
        checkpoint : path, optional
            Keeps the state of learning in this file.
        resume : bool, default=False
            Goes on from the checkpoint, if it is there, to the model that would have been learned.

        Returns
        -------
        self
        """
        rows = rows_of(self, X, reset=True)
        known = self._known(rows, y, sample_weight)
        chosen = self._chosen(checkpoint=checkpoint, resume=resume)
        with self._watching() as told:
            model, error = _native.fit(chosen, rows, known, told)
        self.__dict__.pop("_kept", None)
        return self._keep(model, error)

    @_available(lambda self: self._kind.in_portions)
    def partial_fit(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from one more portion of rows, which need not be kept.

        The first portion is learned from as ``fit`` does, with ``n_init`` starts of ``max_iter`` passes. Later ones are looked at once: what
        they tell is added to what all before them told, and the model is estimated anew from the sum. That is incremental EM: each row
        counts by what the model thought of it when it was there. Principal components (`PCA`, `PPCA`) are not approximate: they are
        those of all rows together, up to rounding. The same portions in the same order give the same model, byte for byte, on any
        number of threads. ``fit`` begins anew.

        Parameters
        ----------
        X : array-like, sparse matrix or table of shape (n_samples, n_features)
            The rows, of the columns and the type (float32 or float64) of the first portion. That one should be like the rest:
            units, and where states are, follow from it.
        y : ignored
            There for pipelines.
        sample_weight : array-like of shape (n_samples,), optional
            2 is the row twice, 0 the row removed.

        Returns
        -------
        self

        Raises
        ------
        NotImplementedError
            If the model cannot, with these parameters: sums of rows must be all that it needs.

        Examples
        --------
        >>> import numpy as np
        >>> from mereo import PCA
        >>> X = np.random.default_rng(0).normal(size=(300, 4))
        >>> model = PCA(n_components=2)
        >>> for start in range(0, 300, 100):
        ...     model = model.partial_fit(X[start : start + 100])
        >>> bool(np.allclose(model.components_, PCA(n_components=2).fit(X).components_))
        True
        """
        kept = getattr(self, "_kept", None)
        rows = rows_of(self, X, reset=kept is None)
        known = self._known(rows, None, sample_weight)
        with self._watching() as told:
            model, error, kept = _native.partial_fit(self._chosen(), rows, known, kept, told)
        if model is not None:
            self._kept = kept
        return self._keep(model, error)

    def _known(self, rows: Any, y: ArrayLike | None, sample_weight: ArrayLike | None) -> Known:
        """What is known about rows to learn from."""
        n_rows = len(rows[0]) - 1 if isinstance(rows, tuple) else rows.shape[0]
        self._check_sign(rows)
        names = getattr(self, "feature_names_in_", None)
        return Known(
            names=None if names is None else [str(name) for name in names],
            weights=weights_of(sample_weight, rows, n_rows),
            labels=None if y is None or not self._uses_labels() else labels_of(y, n_rows),
            picture=picture_of(self.picture),
        )

    @contextlib.contextmanager
    def _watching(self) -> Iterator[Callable[[dict[str, Any]], Any] | None]:
        """What is told of every pass: a progress bar, and the callback. Errors are told in Python's words."""
        bar = Bar(type(self).__name__) if self.verbose else None
        try:
            with _spoken(self._kind):
                yield observer(bar, self.callback)
        finally:
            if bar is not None:
                bar.close()

    def _keep(self, model: _native.Model | None, error: BaseException | None) -> Self:
        """Keep what was learned, then raise what is to be raised."""
        if model is not None:
            self._take(model)
        if error is not None:
            raise error
        if model is None:
            raise RuntimeError("learning was stopped before the first pass was complete: nothing was learned")
        return self

    def _chosen(
        self,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = False,
        every: float | None = None,
    ) -> Chosen:
        options: dict[str, Any] = {}
        for param in self._kind.params:
            value = getattr(self, param.name)
            if value is not None:
                options[param.option] = _plain(value)
        return Chosen(
            kind=self._kind.name,
            options=json.dumps(options),
            restarts=_whole("n_init", self.n_init),
            passes=_whole("max_iter", self.max_iter),
            tolerance=float(self.tol),
            seed=seed_of(self.random_state),
            average=_members(self.n_average, self._kind.most_members),
            threads=threads_of(self.n_jobs),
            checkpoint=None if checkpoint is None else os.fspath(checkpoint),
            checkpoint_every=10.0 if every is None else every,
            resume=resume,
        )

    def _take(self, model: _native.Model) -> None:
        """Take what was learned, or opened, and show it as attributes."""
        # Another model may lack what the last one had: an average has other tensors than a model alone.
        for name in self.__dict__.pop("_attributes", ()):
            self.__dict__.pop(name, None)
        before = set(self.__dict__)
        self._model = model
        manifest = json.loads(model.manifest())
        self.n_features_in_ = model.columns
        columns = manifest.get("columns")
        if columns is not None and not hasattr(self, "feature_names_in_"):
            self.feature_names_in_ = np.array(columns, dtype=object)
        for name, tensor in model.tensors().items():
            many = tensor.ndim > 1 or name == "weight"
            shown = _PLURAL.get(name, name) if many else name
            setattr(self, f"{shown.replace('.', '_')}_", tensor)
        training = manifest.get("training")
        if training is not None:
            weight = training.get("weight") or training["rows"]
            self.n_iter_ = max(1, training["passes"])
            self.converged_ = training["status"] == "converged"
            self.bound_ = training["bound"] / weight
            self.bounds_ = [np.array(restart["bounds"]) for restart in training["restarts"]]
        if model.classes is not None:
            self.classes_ = _values(model.classes)
        self._attributes = sorted(set(self.__dict__) - before - {"_model", "n_features_in_", "feature_names_in_"})

    def _one_model(self, verb: str) -> None:
        """Complain if it is an average, of which something only makes sense of one model."""
        if self._model.members:
            raise NotImplementedError(
                f"an average of {self._model.members} {type(self).__name__} models cannot {verb}: parts, states, components and "
                "classes are those of one model (n_average=1)"
            )

    def _check_sign(self, rows: Any) -> None:
        if self._kind.name not in NON_NEGATIVE:
            return
        cells = rows[2] if isinstance(rows, tuple) else rows
        if np.any(cells < 0):
            place = ""
            if not isinstance(rows, tuple):
                row, column = np.argwhere(cells < 0)[0]
                place = f" at row {row}, column {column}"
            raise ValueError(f"Negative values in data passed to {type(self).__name__}{place}: it adds up, and never takes away")

    def _uses_labels(self) -> bool:
        return getattr(self, "n_classes", None) == "labels"

    def _uses_classes(self) -> bool:
        return getattr(self, "n_classes", None) is not None

    # Questions

    def _ask(self, X: Any) -> Any:
        if not hasattr(self, "_model"):
            check_is_fitted(self)
        return rows_of(self, X, reset=False)

    @_available(_can("encode"))
    def transform(self, X: Any) -> NDArray[Any]:
        """Rows to codes: how likely each state is, or where the row stands along each factor or component.

        Returns
        -------
        ndarray of shape (n_samples, n_codes)
            In the data's own type.
        """
        rows = self._ask(X)
        return self._model.encode(rows, NOTHING, threads_of(self.n_jobs))

    @_available(_can("encode"))
    def inverse_transform(self, X: ArrayLike) -> NDArray[Any]:
        """Codes to rows: what rows with such codes look like.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_codes)
            Codes, as ``transform`` gives them, or made up.
        """
        check_is_fitted(self)
        self._one_model("inverse_transform")
        codes = np.asarray(X)
        if codes.dtype not in (np.float32, np.float64):
            codes = codes.astype(np.float64)
        return self._model.decode(ready(codes))

    @_available(_can("reconstruct"))
    def reconstruct(self, X: Any, *, fill: bool = False) -> NDArray[Any]:
        """Rows as the model makes them, without holes.

        Parameters
        ----------
        fill : bool, default=False
            Whether cells that were observed stay as they are and only missing ones are filled.
        """
        rows = self._ask(X)
        return self._model.reconstruct(rows, NOTHING, fill, threads_of(self.n_jobs))

    @_available(_predicts)
    def predict(self, X: Any) -> NDArray[Any]:
        """What a row is: its class if the model has classes, else its component, or the state of each part.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_parts)
        """
        rows = self._ask(X)
        self._one_model("predict")
        if self._model.classes is not None:
            return self.classes_[self._classify(rows).argmax(axis=1)]
        codes = self._model.encode(rows, NOTHING, threads_of(self.n_jobs))
        parts = self._model.parts
        if parts is None:
            return codes.argmax(axis=1)
        looks, _, prior, _ = parts
        if looks == "factors":
            raise AttributeError(f"{type(self).__name__} without classes has factors, and no states to predict")
        states = codes.reshape(len(codes), *prior.shape).argmax(axis=2)
        return states[:, 0] if states.shape[1] == 1 else states

    @_available(_has_probabilities)
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """How likely each class is, or each component.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        rows = self._ask(X)
        self._one_model("predict_proba")
        if self._model.classes is not None:
            return self._classify(rows)
        return self._model.encode(rows, NOTHING, threads_of(self.n_jobs))

    def _classify(self, rows: Any) -> NDArray[np.float64]:
        return self._model.classify(rows, NOTHING, "bound", 0, 0, threads_of(self.n_jobs))

    @_available(_can("score"))
    def score_samples(self, X: Any, *, likelihood: str | None = None, n_draws: int = 1000) -> NDArray[np.float64]:
        """The log density of each row, in nats.

        Parameters
        ----------
        likelihood : {'bound', 'exact', 'importance', 'prior'}, optional
            How it is worked out, for models that have several ways; as the model offers it if None.
        n_draws : int, default=1000
            Draws, if it is estimated.
        """
        return self._scores(X, likelihood, n_draws)[0]

    @_available(_can("score"))
    def score(self, X: Any, y: Any = None) -> float:
        """The mean log density of rows, in nats."""
        return self._scores(X, None, 0)[2]

    @property
    def score_kind_(self) -> str:
        """What scores are: 'exact', a 'bound' on the log density, or an 'estimate' of it."""
        check_is_fitted(self)
        row = np.full((1, self.n_features_in_), np.nan)
        return self._model.score(row, NOTHING, None, 0, 0, 1)[1]

    def _scores(self, X: Any, how: str | None, n_draws: int) -> tuple[NDArray[np.float64], str, float, float | None]:
        rows = self._ask(X)
        seed = seed_of(self.random_state)
        return self._model.score(rows, NOTHING, how, n_draws, seed, threads_of(self.n_jobs))

    @_available(_can("sample"))
    def sample(self, n_samples: int = 1, *, random_state: Any = None, noise: bool = True) -> NDArray[np.float64]:
        """Draw new rows.

        Parameters
        ----------
        n_samples : int, default=1
            How many.
        random_state : int, RandomState or None, default=None
            The seed; that of the estimator if None. Row i depends on it and on i alone.
        noise : bool, default=True
            Whether rows are drawn about the means of the states that they show, or are these means.
        """
        check_is_fitted(self)
        seed = seed_of(self.random_state if random_state is None else random_state)
        return self._model.sample(int(n_samples), noise, seed)

    @_available(_can("explain"))
    def explain(self, X: Any, rows: Iterable[int] | None = None) -> list[dict[str, Any]]:
        """What each part shows in rows.

        Parameters
        ----------
        rows : iterable of int, optional
            Numbers of the rows to tell of; all if None.

        Returns
        -------
        list of dict
            For each row ``row`` and ``parts``; for each part ``state`` and ``probability`` (or ``factors``), and
            ``columns``: the columns that this says most about, as (name, observed, made).
        """
        data = self._ask(X)
        self._one_model("explain")
        count = len(data[0]) - 1 if isinstance(data, tuple) else data.shape[0]
        numbers = sorted(range(count) if rows is None else {int(row) for row in rows})
        if numbers and not 0 <= numbers[0] <= numbers[-1] < count:
            raise ValueError(f"rows must be from 0 to {count - 1}")
        known = NOTHING
        if hasattr(self, "feature_names_in_"):
            known = Known(names=[str(name) for name in self.feature_names_in_])
        told = self._model.explain(data, known, numbers, threads_of(self.n_jobs))
        return [{"row": row, "parts": [_shown(*part) for part in parts]} for row, parts in told]

    def report(self, path: str | os.PathLike[str], X: Any = None, *, title: str | None = None) -> None:
        """Write one HTML page about the model that needs no network.

        Parameters
        ----------
        path : path
            The page.
        X : rows, optional
            Rows to show with it.
        title : str, optional
            The page's title.
        """
        check_is_fitted(self)
        rows = None if X is None else self._ask(X)
        title = title or type(self).__name__
        self._model.report(os.fspath(path), title, rows, NOTHING, threads_of(self.n_jobs))

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file: the one that the program writes, whole or not at all."""
        check_is_fitted(self)
        self._model.save(os.fspath(path))

    @property
    def manifest_(self) -> dict[str, Any]:
        """What the model file says of the model."""
        check_is_fitted(self)
        return json.loads(self._model.manifest())

    @property
    def criteria_(self) -> dict[str, float] | None:
        """Free parameters, AIC and BIC, where the model counts them."""
        check_is_fitted(self)
        criteria = self._model.criteria
        return None if criteria is None else dict(zip(("parameters", "aic", "bic"), criteria, strict=True))

    def aic(self, X: Any = None) -> float:
        """Akaike's criterion on the data learned from: smaller is better."""
        return self._criterion("aic")

    def bic(self, X: Any = None) -> float:
        """The Bayesian criterion on the data learned from: smaller is better."""
        return self._criterion("bic")

    def _criterion(self, name: str) -> float:
        criteria = self.criteria_
        if criteria is None:
            raise NotImplementedError(f"the criteria of this {type(self).__name__} are not known")
        return criteria[name]

    # scikit-learn

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the numbers of codes."""
        check_is_fitted(self)
        _check_feature_names_in(self, input_features, generate_names=False)
        return np.array(self._model.code_names, dtype=object)

    @property
    def _n_features_out(self) -> int:
        return len(self._model.code_names)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = self.missing is not None
        tags.input_tags.positive_only = self._kind.name in NON_NEGATIVE
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _html_repr(self) -> str:
        page = str(super()._html_repr())
        pictures = ""
        if hasattr(self, "_model"):
            from ._html import parts_html

            pictures = parts_html(self)
        return page + pictures


def _plain(value: Any) -> Any:
    """A parameter as JSON has it."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(item) for item in value]
    return value


def _whole(name: str, value: Any) -> int:
    if isinstance(value, (int, np.integer)) and value >= 0:
        return int(value)
    raise ValueError(f"{name} must be a whole number from 0 up, not {value!r}")


def _members(value: Any, most: int) -> int:
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if whole and 1 <= value <= most:
        return int(value)
    raise ValueError(f"n_average must be a whole number from 1 to {most}, not {value!r}")


def _shown(state: tuple[int, float] | None, factors: list[float], columns: list[tuple[str, float, float]]) -> dict[str, Any]:
    part: dict[str, Any] = {"columns": columns}
    if state is not None:
        part["state"], part["probability"] = state
    if factors:
        part["factors"] = factors
    return part


def _values(names: list[str]) -> NDArray[Any]:
    """Classes as they were given: whole numbers if all are."""
    try:
        return np.array([int(name) for name in names])
    except ValueError:
        return np.array(names, dtype=object)


class _spoken:
    """Errors of the library that name options, in the words of Python."""

    def __init__(self, kind: Kind) -> None:
        self.names = {param.option.replace("_", "-"): param.name for param in kind.params}
        self.names |= {"restarts": "n_init", "passes": "max_iter", "tolerance": "tol", "threads": "n_jobs", "average": "n_average"}

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if type(error) is not ValueError:
            return
        said = re.match(r"option `([^`]*)`: (.*)", str(error), re.DOTALL)
        if said:
            name = self.names.get(said[1], said[1].replace("-", "_"))
            raise ValueError(f"{name}: {said[2]}") from None


def load(path: str | os.PathLike[str]) -> Any:
    """Open a model file, whoever wrote it: this package, the program or the library.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    estimator
        Of the class of the model's kind, fitted; of a map's file a `mereo.maps.Map`.

    Examples
    --------
    >>> import os, tempfile
    >>> from mereo import PCA, load
    >>> from mereo.datasets import toy
    >>> X = toy("shapes", n_rows=50).data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "pca.safetensors")
    ...     PCA(n_components=2).fit(X).save(path)
    ...     load(path).transform(X).shape
    (50, 2)
    """
    if _native.Map.is_in(os.fspath(path)):
        from .maps import Map

        return Map(_native.Map.open(os.fspath(path)))
    return _of(_native.Model.open(os.fspath(path)))


def partial_fit(estimator: Any, portions: Iterable[Any]) -> Any:
    """Learn from portions of rows in turn, none of which is kept.

    Parameters
    ----------
    estimator : estimator
        What to learn: one with a method `partial_fit`, which says how.
    portions : iterable of rows
        The portions: whatever ``fit`` takes, of the same columns; a generator that reads a file in pieces, say.

    Returns
    -------
    estimator
        The estimator, fitted.

    Raises
    ------
    NotImplementedError
        If the model cannot learn so.

    Examples
    --------
    >>> from mereo import KMeans, partial_fit
    >>> from mereo.datasets import toy
    >>> model = partial_fit(KMeans(n_states=4), (toy("shapes", n_rows=100, random_state=i).data for i in range(5)))
    >>> model.manifest_["training"]["rows"]
    500
    """
    if not hasattr(estimator, "partial_fit"):
        raise NotImplementedError(f"{type(estimator).__name__} cannot learn from portions of rows")
    for portion in portions:
        estimator.partial_fit(portion)
    return estimator


def _of(model: _native.Model) -> Any:
    """The estimator of a model."""
    from . import MODELS

    manifest = json.loads(model.manifest())
    name = manifest["members"]["model"] if model.members else model.kind
    if name not in MODELS:
        raise ValueError(f"a model of kind {name!r} has no estimator: ask it with `python -m mereo`")
    kind = MODELS[name]
    stored = manifest.get("params") or {}
    chosen: dict[str, Any] = {}
    for param in kind._kind.params:
        value = stored.get(param.option, param.default)
        if value is None and param.required:
            value = _size(model, param.option)
        chosen[param.name] = tuple(value) if isinstance(value, list) else (None if value == "none" else value)
    training = manifest.get("training") or {}
    picture = manifest.get("picture")
    if picture is not None:
        chosen["picture"] = (picture["height"], picture["width"], picture["channels"])
    estimator = kind(**chosen, missing=manifest.get("absent"), random_state=training.get("seed"), n_average=max(1, model.members))
    estimator._take(model)
    return estimator


def _size(model: _native.Model, option: str) -> Any:
    """A size that the file does not name, as the tensors have it."""
    # Members of an average are of one size.
    tensors = {name.removeprefix("member0."): tensor for name, tensor in model.tensors().items()}
    if option == "layers":
        return tensors["path_weight"].shape
    if option in ("parts", "factors") and "gate" in tensors:
        return tensors["gate"].shape[1] if option == "parts" else tensors["loading"].shape[2]
    if option == "features":
        return tensors["feature"].shape[1]
    for name in ("component", "mean"):
        if name in tensors:
            shape = tensors[name].shape
            return shape[0] if option != "states" else shape[-2]
    return None
