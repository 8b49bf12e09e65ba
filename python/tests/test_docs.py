"""Documentation that runs, and stubs that are as the registration is."""

from __future__ import annotations

import doctest
import importlib
import pathlib
import runpy
import subprocess
import sys

import pytest

import mereo
from mereo import _stubs

FOLDER = pathlib.Path(__file__).resolve().parent
VERBS = ["mereo.maps", "mereo.pictures", "mereo.ratings"]
GALLERY = sorted((FOLDER.parent / "gallery").glob("*.py"))


def run_examples(item, name):
    for test in doctest.DocTestFinder(recurse=False).find(item, name):
        assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test).failed == 0


@pytest.mark.parametrize("name", sorted(mereo.MODELS))
def test_examples_of_models_run(name):
    run_examples(mereo.MODELS[name], name)


@pytest.mark.parametrize("module", ["mereo", "mereo.datasets", "mereo._estimator", "mereo._impute", "mereo.plot", "mereo.dask", *VERBS])
def test_examples_of_modules_run(module):
    if module == "mereo.plot":
        pytest.importorskip("matplotlib")
    if module == "mereo.dask":
        pytest.importorskip("distributed")
    module = importlib.import_module(module)
    results = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert results.failed == 0 and results.attempted > 0


def test_the_stub_is_that_of_the_registration():
    stub = pathlib.Path(mereo.__file__).with_name("__init__.pyi")
    assert stub.read_text() == _stubs.text(), "run `python -m mereo._stubs > python/mereo/__init__.pyi`"


def test_types_are_sound(tmp_path):
    pytest.importorskip("mypy")
    config = FOLDER.parent.parent / "pyproject.toml"
    command = [sys.executable, "-m", "mypy", "--config-file", str(config), str(FOLDER.parent / "mereo")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("script", GALLERY, ids=lambda path: path.stem)
def test_the_gallery_runs(script, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib").use("Agg")
    if script.stem == "cluster":
        pytest.importorskip("distributed")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")
    assert list(tmp_path.iterdir()), "a script of the gallery writes what it shows"
