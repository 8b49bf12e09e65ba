"""Classes made from the models' registration: names, parameters, defaults and docstrings all come from there."""

from __future__ import annotations

import inspect
import json
import textwrap
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _native

if TYPE_CHECKING:
    from ._estimator import Estimator

#: What classes are called where the model's own name would not tell users of scikit-learn what it is.
NAMES = {
    "vq": "KMeans",
    "gmm": "GaussianMixture",
    "student": "StudentMixture",
    "deep-gmm": "DeepGMM",
    "fa": "FactorAnalysis",
    "ae": "AutoEncoder",
    "aspect": "AspectModel",
}

#: Models of data that is nowhere below 0.
NON_NEGATIVE = {"nmf"}

_MADE: dict[str, type[Estimator]] = {}
_MAKING = threading.RLock()


class Param(NamedTuple):
    """Something that can be chosen for a model."""

    name: str
    """What Python calls it."""
    option: str
    """What the library calls it."""
    kind: str
    choices: list[str]
    default: Any
    required: bool
    about: str


class Kind(NamedTuple):
    """A kind of model, as it is registered."""

    name: str
    class_name: str
    title: str
    about: str
    capabilities: frozenset[str]
    params: tuple[Param, ...]
    restarts: int
    in_portions: bool
    passes: int
    tolerance: float
    most_members: int


def class_name(name: str) -> str:
    """What the class of a model is called: `mcvq` is ``MCVQ``, `some-model` is ``SomeModel``."""
    if name in NAMES:
        return NAMES[name]
    if "-" not in name and len(name) <= 4:
        return name.upper()
    return "".join(word.capitalize() for word in name.split("-"))


def param_name(option: str, kind: str) -> str:
    """What Python calls an option: counts of things have ``n_`` before them, as scikit-learn has it."""
    counted = kind in ("count", "count-or") and option.endswith("s")
    return f"n_{option}" if counted else option


def _param(info: dict[str, Any]) -> Param:
    default = info["default"]
    if default == "none" or default == []:
        default = None
    return Param(
        name=param_name(info["name"], info["type"]),
        option=info["name"],
        kind=info["type"],
        choices=list(info.get("choices") or []),
        default=default,
        required=info["needed"],
        about=info["about"],
    )


def kinds() -> list[Kind]:
    """All registered models."""
    registered = json.loads(_native.registration())
    return [
        Kind(
            name=model["name"],
            class_name=class_name(model["name"]),
            title=model["title"],
            about=model["about"],
            capabilities=frozenset(model["capabilities"]),
            params=tuple(_param(info) for info in model["params"]),
            restarts=model["restarts"],
            in_portions=model["in_portions"],
            passes=registered["passes"],
            tolerance=registered["tolerance"],
            most_members=registered["most_members"],
        )
        for model in registered["models"]
    ]


def signature(kind: Kind) -> inspect.Signature:
    """The signature of a class: the model's own parameters, then those that all have."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    either = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter("self", either)]
    parameters += [inspect.Parameter(p.name, either) for p in kind.params if p.required]
    parameters += [
        inspect.Parameter(p.name, keyword, default=p.default) for p in kind.params if not p.required
    ]
    common = {
        "n_init": kind.restarts,
        "max_iter": kind.passes,
        "tol": kind.tolerance,
        "random_state": None,
        "n_average": 1,
        "n_jobs": None,
        "verbose": False,
        "callback": None,
        "missing": None,
        "picture": None,
    }
    parameters += [inspect.Parameter(name, keyword, default=value) for name, value in common.items()]
    return inspect.Signature(parameters)


def classes() -> dict[str, type[Estimator]]:
    """A class for each registered model, by the model's name: made once."""
    with _MAKING:
        if not _MADE:
            _MADE.update({kind.name: _class_of(kind) for kind in kinds()})
        return dict(_MADE)


def _class_of(kind: Kind) -> type[Estimator]:
    # scikit-learn comes with it, and takes a second to load: only who asks for an estimator waits.
    from ._estimator import Estimator

    own = signature(kind)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        bound = own.bind(self, *args, **kwargs)
        bound.apply_defaults()
        for name, value in list(bound.arguments.items())[1:]:
            setattr(self, name, value)

    __init__.__signature__ = own  # type: ignore[attr-defined]
    __init__.__qualname__ = f"{kind.class_name}.__init__"
    namespace = {
        "__doc__": docstring(kind),
        "__module__": "mereo",
        "__init__": __init__,
        "_kind": kind,
    }
    return type(kind.class_name, (Estimator,), namespace)


def example(kind: Kind) -> dict[str, Any]:
    """Small values for what must be chosen, or would be searched for."""
    values: dict[str, Any] = {}
    for param in kind.params:
        if param.required or param.default == "auto":
            if param.kind == "counts":
                values[param.name] = (2, 2)
            elif param.kind in ("count", "count-or"):
                values[param.name] = 2
    return values


_TYPES = {
    "count": "int",
    "number": "float",
    "flag": "bool",
    "counts": "tuple of int",
    "text": "str",
}


def _type_of(param: Param) -> str:
    words = ", ".join(f"'{word}'" for word in param.choices if word != "none")
    shown = {
        "choice": "{" + words + "}",
        "count-or": f"int or {words}",
        "choices": "tuple of {" + words + "}",
    }.get(param.kind) or _TYPES.get(param.kind, "object")
    if param.required:
        return shown
    return f"{shown}, default={param.default!r}"


_COMMON = """
n_init : int, default={restarts}
    How many starts to try; the best bound wins.
max_iter : int, default={passes}
    Most passes over the data of each start.
tol : float, default={tolerance}
    A start has converged when a pass gains less than this many nats a row.
random_state : int, RandomState or None, default=None
    The seed of everything random. None is 0, as in the program: results are always the same.
n_average : int, default=1
    How many models to learn, with the seeds ``random_state``, ``random_state + 1`` ..., as one: an average predicts and fills better than
    each of its members. It has no parts, states, components or classes of its own; its tensors are ``member0_NAME_`` and so on.
n_jobs : int or None, default=None
    Threads: None is 1, -1 all cores. The result does not depend on it.
verbose : bool, default=False
    Whether to show progress on standard error.
callback : callable or None, default=None
    Called after each pass with a dict (restart, pass, bound, change, notes, seconds ...); if it returns something
    true, learning stops and the best model so far is kept.
missing : {{'unobserved', 'zero'}} or None, default=None
    What a cell means that a sparse matrix does not store: it must be said before sparse data is taken.
picture : tuple of int or None, default=None
    Height, width (and channels) of the picture that each row is, for plots and reports.
"""

_ATTRIBUTES = """
n_features_in_ : int
    Number of columns.
feature_names_in_ : ndarray of str
    Their names, if the data had any.
n_iter_ : int
    Passes of the start that won.
converged_ : bool
    Whether it had converged.
bound_ : float
    Its bound, in nats a row.
bounds_ : list of ndarray
    The bound at each pass of each start, in nats, all rows together.
"""


def docstring(kind: Kind) -> str:
    """A class's documentation in NumPy's style."""
    wrap = textwrap.TextWrapper(width=110)

    def filled(text: str, indent: str = "") -> str:
        wrap.initial_indent = wrap.subsequent_indent = indent
        return wrap.fill(text.replace("\\", "\\\\"))

    lines = [f"{kind.title}.", "", filled(kind.about), "", "Parameters", "----------"]
    for param in kind.params:
        lines += [f"{param.name} : {_type_of(param)}", filled(param.about, "    ")]
    common = _COMMON.format(restarts=kind.restarts, passes=kind.passes, tolerance=kind.tolerance)
    lines += [common.strip(), "", "Attributes", "----------", _ATTRIBUTES.strip()]
    lines += [
        "NAME_ : ndarray",
        "    Every tensor of the model file by its name with an underscore; where it lists many, in the plural:",
        "    ``means_``, ``components_``, ``weights_``.",
    ]
    values = {**example(kind), "n_init": 1, "max_iter": 3}
    chosen = ", ".join(f"{name}={value!r}" for name, value in values.items())
    data = 'toy("shapes", n_rows=200).data'
    lines += [
        "",
        "Examples",
        "--------",
        f">>> from mereo import {kind.class_name}",
        ">>> from mereo.datasets import toy",
        f">>> X = abs({data})" if kind.name in NON_NEGATIVE else f">>> X = {data}",
        f">>> model = {kind.class_name}({chosen}).fit(X)",
        ">>> len(model.transform(X))",
        "200",
    ]
    return "\n".join(lines)
