"""What the tests share."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def rows() -> np.ndarray:
    """Two pairs of columns that go together, with holes."""
    random = np.random.default_rng(3)
    a, b = random.integers(0, 2, 400), random.integers(0, 2, 400)
    X = np.column_stack([a, 5.0 * a, b, -3.0 * b]) + 0.1 * random.normal(size=(400, 4))
    X[::7, 1] = np.nan
    X[::5, 3] = np.nan
    return X
