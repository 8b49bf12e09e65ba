"""Rows that come in portions: `partial_fit`."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from test_sklearn import small

import mereo
from mereo import MCVQ, PCA, PPCA, GaussianMixture, KMeans, partial_fit

CAN = ["gmm", "mcvq", "pca", "ppca", "vq"]


def table(rows=3000, seed=0):
    random = np.random.default_rng(seed)
    return random.normal(size=(rows, 4)) * [1, 2, 3, 4] + 6.0 * random.integers(0, 3, size=(rows, 1)) + 100.0


def in_portions(estimator, X, each=500):
    for start in range(0, len(X), each):
        estimator.partial_fit(X[start : start + each])
    return estimator


def test_the_models_that_can_are_those_whose_rows_add_up():
    assert sorted(name for name, kind in mereo.MODELS.items() if hasattr(kind, "_kind") and kind._kind.in_portions) == CAN
    for name, kind in mereo.MODELS.items():
        estimator = small(kind._kind)
        assert hasattr(estimator, "partial_fit") == (name in CAN)
    with pytest.raises(NotImplementedError, match="NMF"):
        partial_fit(mereo.NMF(n_components=2), [np.ones((9, 2))])
    with pytest.raises(NotImplementedError, match="gmm.*these options"):
        GaussianMixture(n_components=2, covariance="full").partial_fit(table(100))
    with pytest.raises(NotImplementedError, match="mcvq.*these options"):
        MCVQ(n_parts=2, n_states=2, gate="factorised").partial_fit(table(100))


@pytest.mark.parametrize("kind", [PCA, PPCA])
def test_principal_components_are_those_of_all_rows(kind):
    X = table()
    whole, parts = kind(n_components=2).fit(X), in_portions(kind(n_components=2), X)
    np.testing.assert_allclose(parts.transform(X), whole.transform(X), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(parts.score(X), whole.score(X), rtol=1e-10)
    with pytest.raises(ValueError, match="missing"):
        parts.partial_fit(np.where(np.arange(20).reshape(5, 4) % 3 == 0, np.nan, 1.0))


@pytest.mark.parametrize(
    "make",
    [lambda **m: KMeans(n_states=3, **m), lambda **m: GaussianMixture(n_components=3, **m), lambda **m: MCVQ(n_parts=2, n_states=3, **m)],
)
def test_portions_are_worth_as_much_as_all_rows_nearly(make):
    X, new = table(), table(2000, seed=1)
    first, parts, whole = make().fit(X[:100]), in_portions(make(), X, each=100), make().fit(X)
    assert first.score(new) < parts.score(new)
    assert whole.score(new) - parts.score(new) < 0.05
    assert parts.manifest_["training"]["rows"] == 3000
    # The same on any number of threads, and after a pickle in between.
    again = in_portions(make(n_jobs=2), X[:1500], each=100)
    again = in_portions(pickle.loads(pickle.dumps(again)), X[1500:], each=100)
    assert again._model.to_bytes() == parts._model.to_bytes()


def test_weights_count_and_fit_begins_anew():
    X = table(600)
    weights = np.arange(600) % 3
    weighted = KMeans(n_states=2).partial_fit(X[:300], sample_weight=weights[:300])
    weighted.partial_fit(X[300:], sample_weight=weights[300:])
    repeated = KMeans(n_states=2)
    for rows in (slice(0, 300), slice(300, 600)):
        repeated.partial_fit(np.repeat(X[rows], weights[rows], axis=0))
    np.testing.assert_allclose(weighted.means_, repeated.means_, rtol=1e-12)
    assert weighted.fit(X)._model.to_bytes() == KMeans(n_states=2).fit(X)._model.to_bytes()
    assert weighted.partial_fit(X).manifest_["training"]["rows"] == 600
    assert not hasattr(clone(weighted), "_kept")


def test_wrong_portions_are_told_and_leave_no_trace():
    X = table(600)
    model = KMeans(n_states=2).partial_fit(X[:300])
    before = model._model.to_bytes()
    with pytest.raises(ValueError, match="X has 3 features, but KMeans is expecting 4 features"):
        model.partial_fit(X[:, :3])
    with pytest.raises(ValueError, match="float32|f32"):
        model.partial_fit(X.astype(np.float32))
    with pytest.raises(ValueError, match="options changed"):
        model.set_params(n_states=3).partial_fit(X)
    wrong = X.copy()
    wrong[5, 1] = np.inf
    with pytest.raises(ValueError, match="row 5"):
        model.set_params(n_states=2).partial_fit(wrong)
    assert model._model.to_bytes() == before
    np.testing.assert_array_equal(
        model.partial_fit(X[300:]).means_, KMeans(n_states=2).partial_fit(X[:300]).partial_fit(X[300:]).means_
    )


def test_a_generator_of_portions_is_learned_from():
    model = partial_fit(GaussianMixture(n_components=2), (table(200, seed) for seed in range(4)))
    assert model.manifest_["training"]["rows"] == 800
    with pytest.raises(NotImplementedError, match="likelihood|criteria|known"):
        model.bic()
