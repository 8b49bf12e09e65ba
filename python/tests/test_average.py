"""Several models as one: `n_average`."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from test_models import ALL, positive
from test_sklearn import small

import mereo
from mereo import MCVQ, PCA, GaussianMixture, Imputer, KMeans, load
from mereo.datasets import toy
from mereo.ratings import ask, predict, recommend


@pytest.mark.parametrize("name", ALL)
def test_an_average_is_asked_kept_and_opened_as_one_model(name, rows, tmp_path):
    X = positive(rows)
    model = small(mereo.MODELS[name]._kind).set_params(n_average=2, random_state=3).fit(X)
    alone = [small(mereo.MODELS[name]._kind).set_params(random_state=seed).fit(X) for seed in (3, 4)]
    path = tmp_path / "average.safetensors"
    model.save(path)
    again, unpickled = load(path), pickle.loads(pickle.dumps(model))
    assert type(again) is type(model) and again.n_average == 2 and again.random_state == 3
    codes = np.hstack([other.transform(X) for other in alone])
    for other in (model, again, unpickled):
        np.testing.assert_array_equal(other.transform(X), codes)
    assert codes.shape[1] == len(model.get_feature_names_out())
    can = model._kind.capabilities
    if "score" in can:
        both = np.logaddexp(*(other.score_samples(X) for other in alone)) - np.log(2)
        np.testing.assert_allclose(model.score_samples(X), both, rtol=1e-9, atol=1e-9)
        assert np.isclose(model.score(X), both.mean())
    if "sample" in can:
        assert model.sample(3).shape == (3, 4)
    if "reconstruct" in can:
        mean = np.mean([other.reconstruct(X) for other in alone], axis=0)
        np.testing.assert_allclose(model.reconstruct(X), mean, rtol=1e-9, atol=1e-9)
    again.save(tmp_path / "again.safetensors")
    assert (tmp_path / "again.safetensors").read_bytes() == path.read_bytes()


def test_the_program_writes_the_same_average(rows, tmp_path):
    np.save(tmp_path / "rows.npy", rows)
    chosen = {"n_parts": 2, "n_states": 3, "random_state": 5, "n_init": 1}
    MCVQ(**chosen, n_average=3, n_jobs=2).fit(rows).save(tmp_path / "here.safetensors")
    command = [sys.executable, "-m", "mereo", "--quiet", "fit", "mcvq", "rows.npy", "--parts", "2", "--states", "3"]
    command += ["--seed", "5", "--restarts", "1", "--average", "3", "-o", "there.safetensors"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "here.safetensors").read_bytes() == (tmp_path / "there.safetensors").read_bytes()
    # One is the model itself, to the same bytes as if nothing was said.
    MCVQ(**chosen, n_average=1).fit(rows).save(tmp_path / "one.safetensors")
    MCVQ(**chosen).fit(rows).save(tmp_path / "plain.safetensors")
    assert (tmp_path / "one.safetensors").read_bytes() == (tmp_path / "plain.safetensors").read_bytes()


@pytest.mark.parametrize("wrong", [0, -1, 257, 1e11, 10**11, 10**30, 2.0, "a", True, None, np.nan, [2]])
def test_rubbish_is_refused_by_name(wrong, rows):
    with pytest.raises(ValueError, match="n_average must be a whole number from 1 to 256"):
        KMeans(n_states=2, n_average=wrong).fit(rows)


def test_it_is_a_parameter_like_others(rows):
    model = KMeans(n_states=2, n_average=np.int64(3))
    assert model.get_params()["n_average"] == clone(model).n_average == 3
    assert KMeans(n_states=2).n_average == 1
    assert "n_average : int, default=1" in KMeans.__doc__
    assert model.fit(rows).manifest_["members"] == {"model": "vq", "count": 3}


def test_what_makes_sense_of_one_model_only_is_refused_by_name(rows, tmp_path):
    X = np.nan_to_num(rows)
    model = MCVQ(n_parts=2, n_states=2, n_average=2, n_init=1, max_iter=5).fit(X)
    for verb, work in {
        "predict": lambda: model.predict(X),
        "inverse_transform": lambda: model.inverse_transform(model.transform(X)),
        "explain": lambda: model.explain(X, [0]),
    }.items():
        with pytest.raises(NotImplementedError, match=f"an average of 2 MCVQ models cannot {verb}"):
            work()
    mixture = GaussianMixture(n_components=2, n_average=2, n_init=1, max_iter=5).fit(X)
    with pytest.raises(NotImplementedError, match="average of 2 GaussianMixture models cannot predict_proba"):
        mixture.predict_proba(X)
    with pytest.raises(ValueError, match="n_average: members"):
        KMeans(n_states=2, n_average=2).partial_fit(X)
    with pytest.raises(ValueError, match="n_average: .*checkpoint"):
        KMeans(n_states=2, n_average=2).fit(X, checkpoint=tmp_path / "run.ckpt")
    with pytest.raises(NotImplementedError):
        model.bic()
    plot = pytest.importorskip("mereo.plot")
    pytest.importorskip("matplotlib")
    with pytest.raises(ValueError, match="an average of 2 MCVQ models has no parts"):
        plot.parts(model)
    model.report(tmp_path / "page.html", X[:20])
    assert "MCVQ" in model._repr_html_()


def test_classes_of_members_are_not_those_of_an_average(rows):
    y = (np.nan_to_num(rows[:, 0]) > 0.5).astype(int)
    model = MCVQ(n_parts=2, n_states=2, n_classes="labels", n_average=2, n_init=1).fit(rows, y)
    for work in (model.predict, model.predict_proba):
        with pytest.raises(NotImplementedError, match="an average of 2 MCVQ models cannot"):
            work(rows)


def test_attributes_of_a_model_before_do_not_stay(rows):
    model = MCVQ(n_parts=2, n_states=2, n_init=1, max_iter=5).fit(rows)
    assert model.gate_.shape == (4, 2)
    model.set_params(n_average=2).fit(rows)
    assert not hasattr(model, "gate_") and model.member0_gate_.shape == (4, 2)
    assert len(model.bounds_) == 2
    model.set_params(n_average=1).fit(rows)
    assert hasattr(model, "gate_") and not hasattr(model, "member1_gate_")
    assert model.predict(rows).shape == (400, 2)


def test_an_average_fills_and_works_without_holes(rows):
    filled = Imputer(PCA(n_components=2, n_average=2)).fit_transform(rows)
    assert np.isfinite(filled).all()
    np.testing.assert_array_equal(filled[~np.isnan(rows)], rows[~np.isnan(rows)])


def test_an_average_of_ratings_predicts_recommends_and_asks():
    X = toy("ratings", n_rows=200).data
    rows, columns = np.nonzero(~np.isnan(X))
    ratings = csr_array((X[rows, columns], (rows, columns)), shape=X.shape)
    chosen = {"n_parts": 2, "n_states": 3, "n_init": 1, "max_iter": 10, "missing": "unobserved"}
    model = MCVQ(**chosen, n_average=2).fit(ratings)
    alone = [MCVQ(**chosen, random_state=seed).fit(ratings) for seed in (0, 1)]
    me = {0: 5.0, 1: 1.0}
    means = [predict(other, me, [2])[0]["mean"] for other in alone]
    assert np.isclose(predict(model, me, [2])[0]["mean"], np.mean(means))
    assert len(recommend(model, me, n_items=3)) == 3
    assert ask(model, me)["item"] not in ("0", "1")
