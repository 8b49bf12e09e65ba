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

from . import _registration
from ._estimator import Estimator, load
from ._impute import Imputer
from ._native import __version__

#: One class for each registered model: they are made from the registration, so that a model added to the library is
#: here without further ado.
MODELS: dict[str, type[Estimator]] = _registration.classes()
globals().update({kind.__name__: kind for kind in MODELS.values()})

__all__ = ["MODELS", "Estimator", "Imputer", "__version__", "load"]
__all__ += [kind.__name__ for kind in MODELS.values()]
