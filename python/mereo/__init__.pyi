from typing import Any
from ._estimator import Estimator as Estimator
MODELS: dict[str, type[Estimator]]
