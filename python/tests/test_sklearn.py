"""scikit-learn's own checks, of every registered model."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import mereo
from mereo import _registration

# Expected failures, each with its reason. That it is the reason, `test_a_weight_is_the_row_as_often` shows.
_SHUFFLED = {
    "check_sample_weight_equivalence_on_dense_data": "the check shuffles the rows, and k-means++, which it starts with, draws them by "
    "their numbers; scikit-learn's own KMeans is excused for the same"
}
_DRAWN = {
    "check_sample_weight_equivalence_on_dense_data": "the check shuffles the rows, and a start draws features for them in their order"
}
EXPECTED: dict[str, dict[str, str]] = {name: _SHUFFLED for name in ("vq", "gmm", "student", "deep-gmm", "cvq")} | {"gvq": _DRAWN}


def small(kind: _registration.Kind) -> mereo.Estimator:
    """An estimator that learns quickly."""
    return mereo.MODELS[kind.name](**_registration.example(kind), n_init=1, max_iter=3, random_state=0)


def expected(estimator: mereo.Estimator) -> dict[str, str]:
    kind = getattr(estimator, "_kind", None)
    return EXPECTED.get(getattr(kind, "name", "imputer"), {})


@parametrize_with_checks(
    [*(small(kind) for kind in _registration.kinds()), mereo.Imputer(mereo.FactorAnalysis(n_components=1))],
    expected_failed_checks=expected,
    xfail_strict=True,
)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", sorted(mereo.MODELS))
def test_a_weight_is_the_row_as_often(name):
    """scikit-learn's check of weights, with rows in their order: nothing is excused here."""
    random = np.random.RandomState(42)
    X, weights = random.rand(15, 30), random.randint(0, 5, size=15)
    for order in (np.arange(15), random.permutation(15)):
        rows, often = X[order], weights[order]
        repeated = small(mereo.MODELS[name]._kind).fit(rows.repeat(often, axis=0))
        weighted = small(mereo.MODELS[name]._kind).fit(rows, sample_weight=often)
        for method in ("predict_proba", "predict", "transform"):
            if hasattr(weighted, method):
                told = [np.asarray(getattr(model, method)(X)) for model in (repeated, weighted)]
                np.testing.assert_allclose(told[0], told[1], rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", sorted(mereo.MODELS))
def test_infinity_is_told_with_its_place(name):
    X = np.abs(np.random.default_rng(0).normal(size=(30, 4)))
    X[7, 2] = np.inf
    with pytest.raises(ValueError, match="row 7, column `2`"):
        small(mereo.MODELS[name]._kind).fit(X)


def test_set_output_gives_named_tables():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=["a", "b", "c"])
    codes = mereo.PCA(n_components=2).set_output(transform="pandas").fit(X).transform(X)
    assert list(codes.columns) == ["component0", "component1"]


def test_estimators_work_in_pipelines_and_searches():
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X = np.random.default_rng(0).normal(size=(90, 3))
    search = GridSearchCV(mereo.GaussianMixture(n_components=1, n_init=1), {"n_components": [1, 2]}, cv=2).fit(X)
    assert search.best_params_["n_components"] in (1, 2)
    assert make_pipeline(StandardScaler(), mereo.KMeans(n_states=2)).fit(X).predict(X).shape == (90,)
