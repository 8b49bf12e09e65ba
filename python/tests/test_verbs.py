"""Ratings, pictures and maps: what the program's verbs say, said by functions."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys

import numpy as np
import pytest

import mereo
from mereo import MCVQ, load, maps, pictures, ratings
from mereo.datasets import toy

sparse = pytest.importorskip("scipy.sparse")


def program(*words, cwd):
    command = [sys.executable, "-m", "mereo", "--quiet", *(str(word) for word in words)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def stars():
    """Ratings, and a model of them."""
    X = toy("ratings", n_rows=300).data
    rows, columns = np.nonzero(~np.isnan(X))
    R = sparse.csr_array((X[rows, columns], (rows, columns)), shape=X.shape)
    model = MCVQ(n_parts=2, n_states=3, n_init=1, max_iter=10, missing="unobserved").fit(R)
    return R, model


def test_people_are_told_the_same_as_by_the_program(stars, tmp_path):
    R, _ = stars
    lines = [f"person{row},film{c},{r}" for row, (a, b) in enumerate(zip(R.indptr, R.indptr[1:], strict=False))
             for c, r in zip(R.indices[a:b], R.data[a:b], strict=True)]  # fmt: skip
    (tmp_path / "ratings.csv").write_text("user,item,rating\n" + "\n".join(lines) + "\n")
    program("fit", "mcvq", "ratings.csv", "--parts", 2, "--states", 3, "--restarts", 1, "-o", "m.safetensors", cwd=tmp_path)
    model = load(tmp_path / "m.safetensors")
    mine = {line.split(",")[1]: float(line.split(",")[2]) for line in lines if line.startswith("person0,")}
    words = ("recommend", "m.safetensors", "--given", "ratings.csv", "--user", "person0", "-n", 4, "--json")
    theirs = json.loads(program(*words, cwd=tmp_path))[0]["recommendations"]
    best = ratings.recommend(model, mine, n_items=4)
    assert best == theirs
    assert best[0]["because"] and {"part", "state", "probability"} <= best[0].keys()
    # A dict, a row and a matrix are one.
    row = np.full(model.n_features_in_, np.nan)
    names = list(model.feature_names_in_)
    for name, rating in mine.items():
        row[names.index(name)] = rating
    assert ratings.recommend(model, row, n_items=4) == best
    matrix = sparse.csr_array(np.nan_to_num(row)[np.newaxis])
    assert ratings.recommend(model, matrix, n_items=4) == [best]


def test_items_are_predicted_without_their_own_rating(stars):
    R, model = stars
    item = int(R.indices[0])
    row = R[[0]].toarray()[0]
    mine = {c: row[c] for c in np.flatnonzero(row)}
    without = {c: r for c, r in mine.items() if c != item}
    with_it = ratings.predict(model, mine, [item])[0]
    assert with_it == ratings.predict(model, without, [str(item)])[0]
    assert sum(with_it["levels"].values()) == pytest.approx(1.0)
    assert ratings.predict(model, R, [(0, item)]) == [with_it]


def test_questions_go_on_until_nothing_is_left(stars):
    R, model = stars
    first = ratings.ask(model)
    second = ratings.ask(model, {first["item"]: 4.0})
    assert second["item"] != first["item"]
    unknown = ratings.ask(model, unknown=[first["item"]])
    assert unknown["item"] != first["item"]
    assert ratings.ask(model, worth="popular")["item"] != ""
    assert ratings.ask(model, {3: 4.0}, among=[3]) is None
    assert ratings.ask(model, worth="random", random_state=1) == ratings.ask(model, worth="random", random_state=1)


def test_wrong_ratings_are_told(stars):
    R, model = stars
    with pytest.raises(ValueError, match="no item 'nothing'"):
        ratings.recommend(model, {"nothing": 3.0})
    with pytest.raises(ValueError, match="rating from"):
        ratings.recommend(model, {0: 77.0})
    for wrong in (-1, 10**6):
        with pytest.raises(ValueError, match="item"):
            ratings.predict(model, {0: 3.0}, [wrong])
    with pytest.raises(ValueError, match="person 9"):
        ratings.predict(model, R[:2], [(9, 0)])
    with pytest.raises(ValueError, match="worth"):
        ratings.ask(model, worth="much")
    with pytest.raises(ValueError, match="not learned from ratings"):
        ratings.recommend(MCVQ(n_parts=1, n_states=2, n_init=1).fit(np.eye(6)), {0: 1.0})


def square():
    clean = np.zeros((40, 48), dtype=np.uint8)
    clean[10:30, 12:34] = 255
    return clean


def test_pictures_are_cleaned_as_by_the_program(tmp_path):
    image = pytest.importorskip("PIL.Image")
    random = np.random.default_rng(0)
    clean = square()
    noisy = np.where(random.random(clean.shape) < 0.08, 255 - clean, clean).astype(np.uint8)
    made = pictures.denoise(noisy)
    assert (made.pixels != clean).sum() < 0.2 * (noisy != clean).sum()
    assert made.pixels.shape == clean.shape and made.probability.shape == clean.shape
    grey = np.clip(clean.astype(float) * 0.5 + 60 + 10 * random.normal(size=clean.shape), 0, 255).astype(np.uint8)
    colour = np.stack([grey, grey[::-1], 255 - grey], axis=2)
    for name, seen in (("two", noisy), ("grey", grey), ("colour", colour)):
        image.fromarray(seen).save(tmp_path / f"{name}.png")
        program("denoise", f"{name}.png", "-o", f"{name}-clean.png", cwd=tmp_path)
        np.testing.assert_array_equal(pictures.denoise(seen).pixels, np.asarray(image.open(tmp_path / f"{name}-clean.png")))


def test_objects_are_cut_out():
    clean = square()
    marks = np.zeros(clean.shape, dtype=int)
    marks[20, 20], marks[2, 2] = 7, 3
    cut = pictures.segment(clean, marks, probability=True, strength=30.0)
    np.testing.assert_array_equal(cut.labels, np.where(clean == 255, 7, 3))
    assert cut.values == [3, 7] and cut.kind == "exact"
    np.testing.assert_allclose(cut.probability.sum(axis=2), 1.0)


def test_noise_and_neighbours_cost_as_is_said(tmp_path):
    image = pytest.importorskip("PIL.Image")
    random = np.random.default_rng(0)
    clean = (square() * 0.5 + 60).astype(np.uint8)
    noisy = np.clip(clean + 10 * random.normal(size=clean.shape), 0, 255).astype(np.uint8)
    for name, pixels in (("noisy", noisy), ("clean", clean)):
        image.fromarray(pixels).save(tmp_path / f"{name}.png")
    ways = [
        ({"error": "absolute"}, ["--error", "absolute"]),
        ({"truncate": 20, "noise": 10.0}, ["--truncate", 20, "--noise", 10]),
        ({"potts": True, "coupling": 2.0}, ["--potts", "--coupling", 2]),
        ({"clean": [clean], "noise": 10.0}, ["--clean", "clean.png", "--noise", 10]),
    ]
    for options, words in ways:
        program("denoise", "noisy.png", "-o", "out.png", *words, cwd=tmp_path)
        np.testing.assert_array_equal(pictures.denoise(noisy, **options).pixels, np.asarray(image.open(tmp_path / "out.png")))
    with pytest.raises(ValueError, match="not both"):
        pictures.denoise(noisy, clean=[clean], coupling=1.0)
    with pytest.raises(ValueError, match="potts"):
        pictures.denoise(noisy, potts=True, truncate=3)


def test_colours_of_one_picture_cut_the_next(tmp_path):
    image = pytest.importorskip("PIL.Image")
    random = np.random.default_rng(1)
    truth = np.where(square() == 255, 1, 2).astype(np.uint8)
    seen = np.clip(np.where(truth == 1, 190, 60) + 12 * random.normal(size=truth.shape), 0, 255).astype(np.uint8)
    marks = np.zeros(truth.shape, dtype=np.uint8)
    marks[20, 15:30], marks[3, 3:40] = 1, 2
    cut = pictures.segment(seen, marks)
    for colours in (pictures.Colours.of_cut(seen, cut.labels), pictures.Colours.of_pictures([seen], [truth])):
        colours.save(tmp_path / "colours.safetensors")
        image.fromarray(seen[::-1]).save(tmp_path / "next.png")
        program("segment", "next.png", "--model", "colours.safetensors", "-o", "labels.png", cwd=tmp_path)
        again = pickle.loads(pickle.dumps(pictures.Colours.load(tmp_path / "colours.safetensors")))
        assert again.values == [1, 2] and "[1, 2]" in repr(again)
        labels = pictures.segment(np.ascontiguousarray(seen[::-1]), colours=again).labels
        np.testing.assert_array_equal(labels, np.asarray(image.open(tmp_path / "labels.png")))
        assert (labels != truth[::-1]).mean() < 0.02
    assert colours.strength is not None
    with pytest.raises(ValueError, match="marks, colours or both"):
        pictures.segment(seen)
    with pytest.raises(ValueError, match="labels of shape"):
        pictures.Colours.of_pictures([seen], [truth[:3]])


def test_wrong_pictures_are_told():
    for wrong in (np.zeros(5), np.zeros((2, 2, 4)), np.full((4, 4), 0.5), np.full((4, 4), 999), np.zeros((0, 3))):
        with pytest.raises(ValueError, match="picture|pixels"):
            pictures.denoise(wrong)
    with pytest.raises(ValueError, match="marks of shape"):
        pictures.segment(square(), np.zeros((3, 3)))
    with pytest.raises(ValueError, match="colour"):
        pictures.segment(square(), np.ones((40, 48)), colour="red")
    with pytest.raises(ValueError, match="levels"):
        pictures.denoise(square(), n_levels=3)


def test_maps_are_those_of_the_program(tmp_path):
    X = toy("shapes", n_rows=120).data
    np.save(tmp_path / "rows.npy", X)
    for method in ("tsne", "pcoa", "sammon"):
        made = maps.map(X, method=method, n_components=8, random_state=3)
        made.save(tmp_path / "here.safetensors")
        words = ("map", "rows.npy", "--method", method, "--pca", 8, "--seed", 3, "-o", "there.safetensors")
        program(*words, cwd=tmp_path)
        assert (tmp_path / "here.safetensors").read_bytes() == (tmp_path / "there.safetensors").read_bytes()
        opened = load(tmp_path / "there.safetensors")
        np.testing.assert_array_equal(opened.points, made.points)
        np.testing.assert_array_equal(opened.place(X[:4]), made.place(X[:4]))
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(made)).points, made.points)
    assert made.quality["trustworthiness"] > 0.7 and "120 rows" in repr(made)


def test_maps_of_distances_with_names_steps_and_checkpoints(tmp_path):
    X = toy("shapes", n_rows=60).data
    apart = np.sqrt(((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2))
    names = [f"row {i}" for i in range(60)]
    np.savetxt(tmp_path / "apart.csv", apart, delimiter=",", fmt="%.17g")
    (tmp_path / "names.txt").write_text("\n".join(names))
    made = maps.map(apart, method="pcoa", distances=True, names=names)
    assert made.names == names
    made.save(tmp_path / "here.safetensors")
    words = ("map", "apart.csv", "--distances", "--method", "pcoa", "--names", "names.txt", "-o", "there.safetensors")
    program(*words, cwd=tmp_path)
    there = load(tmp_path / "there.safetensors")
    np.testing.assert_allclose(there.points, made.points, atol=1e-9)
    assert there.names == names
    products = X.astype(float) @ X.T.astype(float)
    np.testing.assert_allclose(np.abs(maps.map(products, method="pcoa", similarities="root").points), np.abs(made.points), atol=1e-3)
    np.save(tmp_path / "rows.npy", X)
    whole = maps.map(X, n_components=5, prepare=["standardise"], width=2.0, forces="exact", steps=40)
    program(
        *("map", "rows.npy", "--pca", 5, "--prepare", "standardise", "--width", 2, "--forces", "exact", "--steps", 40),
        *("-o", "there.safetensors"), cwd=tmp_path,
    )
    whole.save(tmp_path / "here.safetensors")
    assert (tmp_path / "here.safetensors").read_bytes() == (tmp_path / "there.safetensors").read_bytes()
    options = {"n_components": 5, "checkpoint": tmp_path / "c", "resume": True}
    np.testing.assert_array_equal(maps.map(X, **options).points, maps.map(X, n_components=5).points)
    whole.report(tmp_path / "page.html", X, title="shapes")
    assert "shapes" in (tmp_path / "page.html").read_text()
    for wrong in ({"distances": True}, {"similarities": "sideways"}, {"prepare": ["polish"]}, {"names": ["one"]}):
        with pytest.raises(ValueError):
            maps.map(X, method="pcoa", **wrong)
    with pytest.raises(ValueError, match="not both"):
        maps.map(X, width=1.0, perplexity=5)


def test_maps_of_codes_with_labels(rows):
    model = MCVQ(n_parts=2, n_states=2, n_init=1).fit(rows)
    y = np.nan_to_num(rows[:, 0]) > 0.5
    made = maps.map(rows, y, model=model, perplexity=[5, 20], n_jobs=2, steps=50)
    assert made.points.shape == (400, 2) and made.quality["label_agreement"] > 0.9
    np.testing.assert_array_equal(made.points, maps.map(rows, y, model=model, perplexity=[5, 20], steps=50).points)
    with pytest.raises(ValueError, match="missing"):
        maps.map(rows)
    with pytest.raises(ValueError, match="stepps"):
        maps.map(np.eye(5), stepps=3)
    assert "map" not in mereo.MODELS
