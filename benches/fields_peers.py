"""Peers of `mereo-benches fields` and of `mereo segment`, in one run.

PyMaxflow on the grid that mereo-benches cuts; networkx on random fields that `mereo field --method cut` solves too; then, if the photographs are beside the project, OpenCV's GrabCut
(5 iterations, seed 1, from the same scribbles) and `mereo segment` on each, with errors and CPU seconds. Words as
arguments choose among `maxflow`, `networkx` and `grabcut`; a number says how many random fields.
"""

import io
import math
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data"
MEREO = os.environ.get("MEREO", str(ROOT / "target" / "release" / "mereo"))


def asked(name):
    return len(sys.argv) < 2 or any(word in name for word in sys.argv[1:])


def blobs(height, width):
    out = np.empty(height * width)
    state = 1
    for i in range(height * width):
        y, x = divmod(i, width)
        wave = math.sin(y / 23) * math.cos(x / 31) + 0.5 * math.sin((x + y) / 11)
        state = (state * 1103515245 + 12345) % (1 << 31)
        out[i] = wave + 2 * (state / (1 << 31) - 0.5)
    return out.reshape(height, width)


def cut():
    import maxflow

    height, width = 321, 481
    values = 2 * blobs(height, width)
    for neighbours in (4, 8):
        times = []
        for _ in range(5):
            began = time.perf_counter()
            graph = maxflow.Graph[int](height * width, neighbours * height * width)
            nodes = graph.add_grid_nodes((height, width))
            scale = 1 << 20
            graph.add_grid_edges(nodes, scale, symmetric=True)
            if neighbours == 8:
                across = np.array([[0, 0, 0], [0, 0, 0], [1, 0, 1]])
                graph.add_grid_edges(nodes, int(scale / math.sqrt(2)), structure=across, symmetric=True)
            terminal = np.round(values * scale).astype(np.int64)
            graph.add_grid_tedges(nodes, np.maximum(terminal, 0), np.maximum(-terminal, 0))
            graph.maxflow()
            graph.get_grid_segments(nodes)
            times.append(time.perf_counter() - began)
        print(f"PyMaxflow of {width} x {height}, {neighbours} neighbours: {1e3 * statistics.median(times):.1f} ms")


def random_cuts(count):
    """Least energies of random fields of two labels whose neighbours rather agree."""
    import json
    import networkx

    if not os.path.exists(MEREO):
        print("skipped: build the program first (cargo build --release), or say where it is in MEREO")
        return
    worst = 0.0
    with tempfile.TemporaryDirectory() as work:
        path = pathlib.Path(work) / "field.json"
        for seed in range(count):
            random = np.random.default_rng(seed)
            n = int(random.integers(2, 30))
            unary = random.normal(size=(n, 2))
            pairs = [(a, b, random.exponential()) for b in range(n) for a in range(b) if random.random() < 4 / n]
            graph = networkx.DiGraph()
            graph.add_nodes_from(["s", "t"])
            for i, (zero, one) in enumerate(unary):
                graph.add_edge("s", i, capacity=one - min(zero, one))  # cut if i is 0
                graph.add_edge(i, "t", capacity=zero - min(zero, one))  # cut if i is 1
            for a, b, weight in pairs:
                graph.add_edge(a, b, capacity=weight)
                graph.add_edge(b, a, capacity=weight)
            least = networkx.minimum_cut_value(graph, "s", "t") - unary.max(axis=1).sum()
            path.write_text(json.dumps({
                "variables": [{"labels": 2}] * n,
                "unary": unary.tolist(),
                "edges": [{"a": a, "b": b, "table": [[0, -w], [-w, 0]]} for a, b, w in pairs],
            }))
            told = subprocess.run([MEREO, "field", path, "--method", "cut", "--json"], check=True, capture_output=True)
            answer = json.loads(told.stdout)
            worst = max(worst, abs(answer["energy"] - least))
            assert answer["kind"] == "exact" and worst < 1e-8, (seed, answer["energy"], least)
    print(f"{count} random fields: energies as networkx finds them, at most {worst:.1e} apart")


def photographs(names):
    found = {}
    for part in ("train", "test"):
        with tarfile.open(DATA / "bsds300" / f"{part}.tar") as archive:
            for member in archive:
                stem = pathlib.Path(member.name).stem
                if stem in names:
                    found[stem] = archive.extractfile(member).read()
    return found


def grabcut():
    import cv2
    from PIL import Image

    folder = DATA / "segmentation"
    if not folder.exists():
        print("skipped: shared/data/segmentation is not beside the project")
        return
    if not os.path.exists(MEREO):
        print("skipped: build the program first (cargo build --release), or say where it is in MEREO")
        return
    names = sorted(path.stem for path in (folder / "truth").glob("*.png"))
    pictures = photographs(names)
    print("wrong in percent of unmarked pixels, CPU seconds a picture")
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        for which in ("scribbles-few", "scribbles-more"):
            ours, theirs, ours_time, theirs_time = [], [], 0.0, 0.0
            for name in names:
                picture = np.asarray(Image.open(io.BytesIO(pictures[name])).convert("RGB"))
                truth = np.asarray(Image.open(folder / "truth" / f"{name}.png").convert("L"))
                marks = np.asarray(Image.open(folder / which / f"{name}.png"))
                counted = (marks == 0) & (truth != 128)

                mask = np.full(marks.shape, cv2.GC_PR_BGD, np.uint8)
                mask[marks == 1], mask[marks == 2] = cv2.GC_FGD, cv2.GC_BGD
                cv2.setRNGSeed(1)
                began = time.process_time()
                cv2.grabCut(np.ascontiguousarray(picture[:, :, ::-1]), mask, None, np.zeros((1, 65)),
                            np.zeros((1, 65)), 5, cv2.GC_INIT_WITH_MASK)
                theirs_time += time.process_time() - began
                found = (mask == cv2.GC_FGD) | (mask == cv2.GC_PR_FGD)
                theirs.append(np.mean(found[counted] != (truth == 255)[counted]))

                (work / "p.jpg").write_bytes(pictures[name])
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                subprocess.run([MEREO, "segment", work / "p.jpg", "--scribbles", folder / which / f"{name}.png",
                                "-o", work / "l.png", "--quiet"], check=True, stdout=subprocess.DEVNULL)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                ours_time += after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
                labels = np.asarray(Image.open(work / "l.png"))
                ours.append(np.mean((labels == 1)[counted] != (truth == 255)[counted]))
            n = len(names)
            print(f"{which}: mereo {100 * np.mean(ours):.2f}%, {ours_time / n:.2f} s; "
                  f"GrabCut {100 * np.mean(theirs):.2f}%, {theirs_time / n:.2f} s")


if __name__ == "__main__":
    if asked("maxflow"):
        cut()
    if asked("networkx"):
        random_cuts(next((int(word) for word in sys.argv[1:] if word.isdigit()), 1000))
    if asked("grabcut"):
        grabcut()
