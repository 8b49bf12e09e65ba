"""What every model does, through Python."""

from __future__ import annotations

import io
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
from sklearn.base import clone
from test_sklearn import small

import mereo
from mereo import MCVQ, FactorAnalysis, GaussianMixture, Imputer, KMeans, load

ALL = sorted(mereo.MODELS)


def positive(rows: np.ndarray) -> np.ndarray:
    return np.abs(rows) + 1.0


@pytest.mark.parametrize("name", ALL)
def test_a_file_and_a_pickle_bring_the_model_back(name, rows, tmp_path):
    X = positive(rows)
    model = small(mereo.MODELS[name]._kind).fit(X)
    path = tmp_path / "model.safetensors"
    model.save(path)
    again, unpickled = load(path), pickle.loads(pickle.dumps(model))
    assert type(again) is type(model)
    for other in (again, unpickled):
        np.testing.assert_array_equal(other.transform(X), model.transform(X))
        other.save(tmp_path / "again.safetensors")
        assert (tmp_path / "again.safetensors").read_bytes() == path.read_bytes()
    assert clone(again).get_params().keys() == model.get_params().keys()


@pytest.mark.parametrize("name", ALL)
def test_what_is_registered_can_be_asked(name, rows, tmp_path):
    X = positive(rows)
    model = small(mereo.MODELS[name]._kind).fit(X)
    can = model._kind.capabilities
    codes = model.transform(X)
    assert codes.shape == (400, len(model.get_feature_names_out()))
    assert hasattr(model, "score_samples") == ("score" in can)
    if "score" in can:
        assert np.isclose(model.score_samples(X).mean(), model.score(X))
    if "sample" in can:
        assert model.sample(10).shape == (10, 4)
        np.testing.assert_array_equal(model.sample(3), model.sample(10)[:3])
    if "reconstruct" in can:
        filled = model.reconstruct(X, fill=True)
        np.testing.assert_array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])
        assert np.isfinite(filled).all()
    if "explain" in can:
        assert model.explain(X, [3])[0]["row"] == 3
    model.report(tmp_path / "page.html", X[:20])
    assert (tmp_path / "page.html").stat().st_size > 1000
    assert "Parameters" in type(model).__doc__


@pytest.mark.parametrize(
    "name", ["mcvq", "mcfa", "vq", "gmm", "student", "deep-gmm", "pca", "ppca", "fa", "nmf", "gvq", "cvq"]
)
def test_codes_lead_back(name, rows):
    X = positive(np.nan_to_num(rows))
    model = small(mereo.MODELS[name]._kind).fit(X)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), model.reconstruct(X), rtol=1e-6, atol=1e-6)


def test_the_contract(rows, tmp_path):
    m = MCVQ(n_parts=2, n_states=2, random_state=0).fit(rows)
    assert m.gate_.shape == (4, 2) and m.means_.shape == (2, 2, 4)
    part = m.gate_.argmax(axis=1)
    assert part[0] == part[1] != part[2] == part[3]
    assert m.predict(rows).shape == (400, 2)
    filled = Imputer(MCVQ(n_parts=2, n_states=2, random_state=0)).fit_transform(rows)
    # Both columns of a pair say the same.
    assert np.corrcoef(filled[::7, 0], filled[::7, 1])[0, 1] > 0.9


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_program_writes_the_same_bytes(dtype, rows, tmp_path):
    X = rows.astype(dtype)
    np.save(tmp_path / "rows.npy", X)
    MCVQ(n_parts=2, n_states=3, random_state=5, n_init=2, n_jobs=2).fit(X).save(tmp_path / "here.safetensors")
    command = [sys.executable, "-m", "mereo", "--quiet", "fit", "mcvq", "rows.npy", "--parts", "2", "--states", "3"]
    command += ["--seed", "5", "--restarts", "2", "-o", "there.safetensors"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "here.safetensors").read_bytes() == (tmp_path / "there.safetensors").read_bytes()


def test_the_program_says_by_its_code_how_it_went(tmp_path):
    run = lambda *words: subprocess.run([sys.executable, "-m", "mereo", *words], capture_output=True, text=True)  # noqa: E731
    assert run("models").returncode == 0
    assert run("nonsense").returncode == 2
    lost = run("show", str(tmp_path / "nothing.safetensors"))
    assert lost.returncode == 1 and "nothing.safetensors" in lost.stderr


def test_labels_make_classes(rows):
    y = (np.nan_to_num(rows[:, 0]) > 0.5).astype(float)
    some = y.copy()
    some[::2] = np.nan
    model = MCVQ(n_parts=2, n_states=2, n_classes="labels", random_state=0).fit(rows, some)
    assert list(model.classes_) == [0, 1]
    assert (model.predict(rows) == y).mean() > 0.95
    np.testing.assert_allclose(model.predict_proba(rows).sum(axis=1), 1.0)
    same = MCVQ(n_parts=2, n_states=2, n_classes="labels", random_state=0).fit(rows, np.where(np.isnan(some), -1, some))
    np.testing.assert_array_equal(same.means_, model.means_)


def test_weight_two_is_the_row_twice(rows):
    weights = np.random.default_rng(0).integers(0, 3, len(rows))
    once = GaussianMixture(n_components=2, n_init=1).fit(rows, sample_weight=weights)
    twice = GaussianMixture(n_components=2, n_init=1).fit(np.repeat(rows, weights, axis=0))
    np.testing.assert_allclose(once.score(rows), twice.score(rows), rtol=1e-3)


def test_sparse_rows_must_say_what_is_missing():
    sparse = pytest.importorskip("scipy.sparse")
    random = np.random.default_rng(0)
    X = np.where(random.random((200, 6)) < 0.4, random.normal(size=(200, 6)), 0.0)
    with pytest.raises((ValueError, TypeError), match="[Ss]parse"):
        KMeans(n_states=2).fit(sparse.csr_matrix(X))
    full = KMeans(n_states=2, random_state=1).fit(X)
    for make in (sparse.csr_matrix, sparse.csr_array):
        for index in (np.int32, np.int64):
            S = make(X)
            S.indices, S.indptr = S.indices.astype(index), S.indptr.astype(index)
            zero = KMeans(n_states=2, missing="zero", random_state=1).fit(S)
            np.testing.assert_allclose(np.sort(zero.means_, axis=0), np.sort(full.means_, axis=0), atol=1e-5)
            holes = GaussianMixture(n_components=1, missing="unobserved").fit(S)
            stored = np.where(X == 0, np.nan, X)
            np.testing.assert_allclose(holes.means_[0], np.nanmean(stored, axis=0), atol=1e-6)


def test_tables_of_every_kind_are_one(rows):
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    names = ["a", "b", "c", "d"]
    frame = pandas.DataFrame(rows, columns=names)
    arrow = pyarrow.Table.from_arrays([pyarrow.array(c, from_pandas=True) for c in rows.T], names=names)
    models = [FactorAnalysis(n_components=1).fit(X) for X in (frame, polars.from_pandas(frame), arrow)]
    for model in models:
        assert list(model.feature_names_in_) == names
        assert model._model.to_bytes() == models[0]._model.to_bytes()
    np.testing.assert_array_equal(models[0].transform(frame), models[1].transform(arrow))


class _Stream:
    """Speaks Arrow and nothing else."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


class _Array:
    """One batch, through the other half of the interface."""

    def __init__(self, batch):
        self.batch = batch

    def __arrow_c_array__(self, requested_schema=None):
        return self.batch.__arrow_c_array__(requested_schema)


def test_whatever_speaks_arrow_is_read_through_its_interface(rows):
    polars, pyarrow = (pytest.importorskip(name) for name in ("polars", "pyarrow"))
    names = ["a", "b", "c", "d"]
    columns = [pyarrow.array(c, from_pandas=True) for c in rows.T]
    arrow = pyarrow.Table.from_arrays(columns, names=names)
    chunked = pyarrow.concat_tables([arrow.slice(0, 100), arrow.slice(100, 7), arrow.slice(107)])
    wanted = FactorAnalysis(n_components=1).fit(arrow)._model.to_bytes()
    given = [chunked, _Stream(chunked), _Array(arrow.combine_chunks().to_batches()[0]), pyarrow.RecordBatchReader.from_batches(arrow.schema, chunked.to_batches())]
    for X in (*given, polars.from_arrow(chunked)):
        assert FactorAnalysis(n_components=1).fit(X)._model.to_bytes() == wanted
    # Slices, single precision and whole numbers; nulls are missing.
    small = polars.DataFrame({"x": [1.5, None, 3.0, 4.0], "y": [1, 2, 3, 4]}, schema={"x": polars.Float32, "y": polars.Int8})
    assert KMeans(n_states=1).fit(small).transform(small).dtype == np.float32
    np.testing.assert_allclose(KMeans(n_states=1).fit(small.slice(2)).means_, [[3.5, 3.5]])
    with pytest.raises(ValueError, match="kind"):
        KMeans(n_states=1).fit(polars.DataFrame({"x": [1.0], "kind": ["red"]}))
    with pytest.raises(ValueError, match="row 1, column `x`"):
        KMeans(n_states=1).fit(polars.DataFrame({"x": [1.0, float("inf")]}))
    with pytest.raises(ValueError, match="no rows"):
        KMeans(n_states=1).fit(arrow.slice(0, 0))


def test_columns_of_arrow_are_copied_once():
    pytest.importorskip("polars")
    script = """
        import resource, numpy as np, polars, mereo
        X = polars.DataFrame({str(i): np.random.default_rng(i).normal(size=200_000) for i in range(50)})
        size = X.estimated_size() / 1024
        model = mereo.PCA(n_components=2)
        model.fit(X[:1000])
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        model.fit(X)
        print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / size)
    """
    out = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)
    assert float(out.stdout) < 1.5, out.stdout


def test_memory_maps_and_arrays_that_cannot_be_written_are_read(rows, tmp_path):
    np.save(tmp_path / "rows.npy", rows)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    frozen = rows.copy()
    frozen.flags.writeable = False
    wanted = KMeans(n_states=2).fit(rows).means_
    # What came over a network may begin anywhere in memory.
    askew = np.frombuffer(b"\0" + rows.tobytes(), offset=1).reshape(rows.shape)
    assert not askew.flags.aligned
    for X in (mapped, frozen, np.asfortranarray(rows), askew):
        np.testing.assert_array_equal(KMeans(n_states=2).fit(X).means_, wanted)


def test_an_array_in_c_order_is_not_copied():
    script = """
        import resource, numpy as np, mereo
        X = np.random.default_rng(0).normal(size=(100_000, 100)).astype(np.float32)
        model = mereo.KMeans(n_states=2, n_init=1, max_iter=1)
        model.fit(X[:1000])
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        model.fit(X); model.score(X)
        print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / (X.nbytes / 1024))
    """
    out = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)
    assert float(out.stdout) < 0.5, out.stdout


def test_a_callback_hears_of_passes_and_can_stop(rows):
    heard = []
    model = GaussianMixture(n_components=2, n_init=1, tol=0.0, callback=lambda r: heard.append(r) or len(heard) == 3).fit(rows)
    assert [r["pass"] for r in heard] == [0, 1, 2]
    assert not model.converged_ and model.n_iter_ <= 3

    def fails(record):
        raise KeyError("mine")

    broken = GaussianMixture(n_components=2, callback=fails)
    with pytest.raises(KeyError, match="mine"):
        broken.fit(rows)
    assert hasattr(broken, "means_")


def test_verbose_shows_progress(rows, capsys):
    GaussianMixture(n_components=2, n_init=1, verbose=True).fit(rows)
    assert "pass" in capsys.readouterr().err


def test_ctrl_c_keeps_the_best_model_so_far():
    X = np.random.default_rng(0).normal(size=(20_000, 20))
    model = GaussianMixture(n_components=8, n_init=1, max_iter=100_000, tol=0.0)
    heard = threading.Event()
    model.callback = lambda record: heard.set()

    def interrupt():
        heard.wait(60)
        os.kill(os.getpid(), signal.SIGINT)

    # Shells start what runs in the background with interrupts ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert model.manifest_["training"]["status"] == "interrupted"
    assert np.isfinite(model.score(X[:10]))


def test_a_fit_after_fork_works(rows):
    script = """
        import os, numpy as np, mereo
        X = np.random.default_rng(0).normal(size=(3000, 5))
        a = mereo.KMeans(n_states=3, n_jobs=2).fit(X)
        child = os.fork()
        b = mereo.KMeans(n_states=3, n_jobs=2).fit(X)
        assert (a.means_ == b.means_).all()
        if child == 0:
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True, timeout=60)


def test_a_checkpoint_is_taken_up(rows, tmp_path):
    whole = GaussianMixture(n_components=3, n_init=2, random_state=1).fit(rows)
    count = []
    stopped = GaussianMixture(n_components=3, n_init=2, random_state=1, callback=lambda r: count.append(r) or len(count) > 4)
    stopped.fit(rows, checkpoint=tmp_path / "c")
    resumed = GaussianMixture(n_components=3, n_init=2, random_state=1).fit(rows, checkpoint=tmp_path / "c", resume=True)
    assert resumed._model.to_bytes() == whole._model.to_bytes()


def test_errors_speak_of_parameters(rows):
    with pytest.raises(ValueError, match="^n_components"):
        PCA = mereo.PCA
        PCA(n_components=0).fit(rows)
    with pytest.raises(ValueError, match="n_init"):
        KMeans(n_states=2, n_init=-1).fit(rows)
    with pytest.raises(ValueError, match="covariance"):
        GaussianMixture(n_components=2, covariance="round").fit(rows)
    with pytest.raises(FileNotFoundError):
        load("nowhere.safetensors")
    with pytest.raises(TypeError):
        KMeans()


def test_imputers_indicate(rows):
    imputer = Imputer(FactorAnalysis(n_components=1), add_indicator=True)
    filled = imputer.fit_transform(rows)
    assert filled.shape == (400, 6)
    np.testing.assert_array_equal(filled[:, 4], np.isnan(rows[:, 1]))
    assert list(imputer.get_feature_names_out())[-1] == "missingindicator_x3"


def test_imputers_draw_several_times(rows):
    imputer = Imputer(FactorAnalysis(n_components=2, random_state=1)).fit(rows)
    draws = imputer.draws(rows, n_draws=200)
    holes = np.isnan(rows)
    assert draws.shape == (200, *rows.shape)
    assert (draws[:, ~holes] == rows[~holes]).all()
    # On the average they are the single fill, and they vary.
    assert (draws[:, holes].std(axis=0) > 0).all()
    error = np.abs(draws.mean(axis=0) - imputer.transform(rows))[holes]
    assert (error < 5 * draws[:, holes].std(axis=0) / np.sqrt(200)).mean() > 0.99


def test_parts_are_shown_in_notebooks():
    from mereo.datasets import toy

    world = toy("shapes", n_rows=200)
    model = MCVQ(n_parts=3, n_states=4, n_init=1, max_iter=3, picture=world.picture).fit(world.data)
    assert "data:image/png" in model._repr_html_()
    assert "part 0" in KMeans(n_states=2).fit(world.data)._repr_html_()
    image = pytest.importorskip("PIL.Image")
    from mereo._html import png

    assert image.open(io.BytesIO(png(np.zeros((3, 5, 1), dtype=np.uint8)))).size == (5, 3)


def test_import_waits_for_scikit_learn_until_an_estimator_is_asked_for():
    script = "import sys, mereo; assert 'sklearn' not in sys.modules and 'KMeans' in dir(mereo); "
    script += "import mereo.dask; assert 'sklearn' not in sys.modules; "
    script += "from mereo import *; assert KMeans is mereo.MODELS['vq'] is mereo.KMeans; mereo.Imputer; load"
    subprocess.run([sys.executable, "-c", script], check=True)
    with pytest.raises(AttributeError, match="Oracle"):
        mereo.Oracle  # noqa: B018


def test_import_needs_nothing_else():
    # scikit-learn loads pandas by itself, where it is.
    script = "import sys, sklearn.utils.validation; theirs = set(sys.modules); import mereo; "
    script += "print([m for m in ('pandas', 'polars', 'pyarrow', 'matplotlib', 'dask') if m in set(sys.modules) - theirs])"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
