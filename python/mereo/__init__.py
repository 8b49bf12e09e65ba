"""mereo learns the parts that data is made of.

Estimators follow scikit-learn and run on mereo's Rust core. NaN is a missing value everywhere, every row can
have a weight, and the same data, parameters and ``random_state`` give the same model, byte for byte, on any
number of threads, from Python, from the program ``mereo`` and on a Dask cluster.

Examples
--------
>>> from mereo import MCVQ, load
>>> from mereo.datasets import toy
>>> X = toy("shapes", n_rows=300).data
>>> model = MCVQ(n_parts=3, n_states=9, n_init=1, random_state=0).fit(X)
>>> model.transform(X).shape
(300, 27)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _registration
from ._native import __version__

if TYPE_CHECKING:
    from ._estimator import Estimator, load, partial_fit
    from ._impute import Imputer

    #: One class for each registered model, by the model's name: they are made from the registration, so that a model
    #: added to the library is here without further ado.
    MODELS: dict[str, type[Estimator]]

#: What is here once it is asked for: scikit-learn, which estimators are made of, takes a second to load.
_CLASSES = {kind.class_name for kind in _registration.kinds()}
_FROM = {"Estimator": "_estimator", "Imputer": "_impute", "load": "_estimator", "partial_fit": "_estimator"}

__all__ = ["MODELS", "Estimator", "Imputer", "__version__", "load", "partial_fit"]
__all__ += sorted(_CLASSES)


def __getattr__(name: str) -> Any:
    if name in _FROM:
        import importlib

        globals()[name] = getattr(importlib.import_module(f".{_FROM[name]}", __name__), name)
    elif name == "MODELS" or name in _CLASSES:
        classes = _registration.classes()
        globals().update({kind.__name__: kind for kind in classes.values()}, MODELS=classes)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
