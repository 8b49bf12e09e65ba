"""Filling of the mixed tables beside peers: 20% of all cells hidden at random, the same for everyone.

Run with scikit-learn, pandas and pylace:
`python tables_peers.py FOLDER_OF_TABLES PROGRAM [TABLE...] [--only PEER,PEER] [--seed S]`, PROGRAM being the `mereo` to be measured.

Kinds of columns are those that `mereo inspect` finds; ids are left out. Prints for each table and peer the mean over columns of
numbers of the root-mean-square error in the column's deviations (nrmse), the mean over columns of words of the share of
wrong fills (wrong), and seconds of wall and processor time. For mereo also: the share of hidden numbers within the range of 20 draws
(19/21 = .905 is right) and how far the mean probability of fills is from the share of right ones.
Tables of more than 5,000 rows are cut to 5,000 at random: neighbours of all pairs of rows take others too long.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

MOST_ROWS = 5000
HIDDEN = 0.2
DRAWS = 20


def table(path, program, seed):
    """The table without its ids, kinds of columns, and which cells are to be hidden."""
    told = json.loads(subprocess.check_output([program, "inspect", str(path), "--json"]))
    kinds = {c["name"]: c for c in told["columns"]}
    frame = pd.read_csv(path, dtype=str, keep_default_na=False, na_values=["", "NA"])
    frame.columns = [n if not n.startswith("Unnamed") else "0" for n in frame.columns]
    keep = [n for n in frame.columns if kinds[n]["kind"] not in ("id", "text")]
    frame, random = frame[keep], np.random.default_rng(seed)
    if len(frame) > MOST_ROWS:
        frame = frame.iloc[np.sort(random.choice(len(frame), MOST_ROWS, replace=False))].reset_index(drop=True)
    words = [n for n in keep if kinds[n].get("levels")]
    # A number is a number whatever it is written as.
    for name in keep:
        if name not in words:
            frame[name] = pd.to_numeric(frame[name])
    hide = (random.random(frame.shape) < HIDDEN) & frame.notna().to_numpy()
    return frame, words, hide


def coded(frame, words):
    """Words as numbers of their levels; and the levels."""
    out, levels = frame.copy(), {}
    for name in words:
        kind = frame[name].astype("category")
        levels[name] = list(kind.cat.categories)
        out[name] = kind.cat.codes.replace(-1, np.nan).astype(float)
    return out.astype(float), levels


def indicators(frame, words, all_but_one=False):
    """Numbers in units of their deviation and an indicator of each word, or of all words but the last; and the way back."""
    less = int(all_but_one)
    codes, levels = coded(frame, words)
    columns, unit = [], {}
    for name in frame:
        if name in words:
            for level in range(len(levels[name]) - less):
                own = (codes[name] == level).astype(float)
                own[codes[name].isna()] = np.nan
                columns.append(own.to_numpy())
        else:
            unit[name] = (codes[name].mean(), codes[name].std() or 1.0)
            columns.append(((codes[name] - unit[name][0]) / unit[name][1]).to_numpy())

    def back(x):
        out, at = frame.copy(), 0
        for name in frame:
            if name in words:
                n = len(levels[name]) - less
                own = x[:, at : at + n]
                own = np.column_stack([own, 1 - own.sum(1)]) if less else own
                out[name] = np.array(levels[name], dtype=object)[own.argmax(1)]
                at += n
            else:
                out[name] = x[:, at] * unit[name][1] + unit[name][0]
                at += 1
        return out

    return np.column_stack(columns), back


def commonest(frame, words):
    out = frame.copy()
    for name in frame:
        out[name] = frame[name].fillna(frame[name].mode().iloc[0] if name in words else frame[name].mean())
    return out


def neighbours(frame, words):
    from sklearn.impute import KNNImputer

    x, back = indicators(frame, words)
    return back(KNNImputer(n_neighbors=15, weights="distance").fit_transform(x))


def iterative(frame, words):
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    # All indicators of a column are missing together and add up to 1: with every one of them there, a regression finds
    # each from its mean-filled siblings, and all stay at their means.
    x, back = indicators(frame, words, all_but_one=True)
    return back(IterativeImputer(random_state=0, max_iter=10).fit_transform(x))


def lace(frame, words):
    import lace as engine

    names = {name: f"c{i}" for i, name in enumerate(frame)}
    data = frame.rename(columns=names)
    data.index = [f"r{i}" for i in range(len(data))]
    # A column without variation is no column to Lace.
    data = data[[n for n in data if data[n].nunique() > 1]]
    model = engine.Engine.from_df(data, n_states=4, rng_seed=0)
    model.update(100)
    out = commonest(frame, words)
    for name in frame:
        holes = np.flatnonzero(frame[name].isna())
        if len(holes) and names[name] in data:
            filled = model.impute(names[name], with_uncertainty=False)
            found = dict(zip(filled["index"].to_list(), filled[names[name]].to_list()))
            out.loc[holes, name] = [found[f"r{row}"] for row in holes]
    return out


def write(frame, folder):
    path = Path(folder) / "holes.csv"
    frame.to_csv(path, index=False)
    return path


def mereo(program):
    def fill(frame, words):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "filled.csv"
            told = subprocess.check_output([program, "fill", str(write(frame, folder)), "-o", str(out), "--json", "--quiet"])
            print("   ", ", ".join(f"{t['name']} {t['error']:.4f}{'*' if t['chosen'] else ''}" for t in json.loads(told)["tried"]))
            return pd.read_csv(out, dtype={n: str for n in words}, keep_default_na=False)

    return fill


def draws(program, frame, whole, words, hide):
    """The share of hidden numbers within the range of draws, and probabilities beside the share of right fills."""
    with tempfile.TemporaryDirectory() as folder:
        path, out = write(frame, folder), Path(folder) / "drawn.csv"
        run = lambda *more: subprocess.check_output([program, "fill", str(path), "-o", str(out), "--quiet", *more])
        run("--draws", str(DRAWS))
        read = lambda p: pd.read_csv(p, dtype={n: str for n in words}, keep_default_na=False)
        drawn = [read(Path(folder) / f"drawn-{i + 1}.csv") for i in range(DRAWS)]
        inside, all_of, crps, base = 0, 0, [], []
        for at, name in enumerate(frame):
            rows = np.flatnonzero(hide[:, at])
            if name in words or not len(rows):
                continue
            x = np.array([pd.to_numeric(d[name]).to_numpy()[rows] for d in drawn])
            truth = whole[name].to_numpy()[rows].astype(float)
            inside += ((x.min(0) <= truth) & (truth <= x.max(0))).sum()
            all_of += len(rows)
            unit = np.nanstd(frame[name].to_numpy(float)) or 1.0
            crps.append((np.abs(x - truth).mean(0) - 0.5 * np.abs(x[:, None] - x[None]).sum((0, 1)) / (DRAWS * (DRAWS - 1))).mean() / unit)
        run("--probabilities")
        filled = read(out)
        said, right = [], []
        for at, name in enumerate(frame):
            rows = np.flatnonzero(hide[:, at])
            sure = next((c for c in filled if c.startswith(name) and c != name and "prob" in c), None)
            if name in words and sure and len(rows):
                said += list(pd.to_numeric(filled[sure]).to_numpy()[rows])
                right += list((filled[name].to_numpy()[rows] == whole[name].to_numpy()[rows]).astype(float))
        covered = inside / max(all_of, 1)
        text = f"    draws: {covered:.3f} of {all_of} hidden numbers within the range of {DRAWS} (.905 is right); crps {np.mean(crps):.4f}"
        if said:
            text += f"; fills of words said to be right with {np.mean(said):.3f}, are with {np.mean(right):.3f}"
        print(text, flush=True)


def errors(filled, whole, words, hide):
    numbers, wrong = [], []
    for at, name in enumerate(whole):
        rows = np.flatnonzero(hide[:, at])
        if not len(rows):
            continue
        truth, said = whole[name].to_numpy()[rows], filled[name].to_numpy()[rows]
        if name in words:
            wrong.append(np.mean([str(a) != str(b) for a, b in zip(truth, said)]))
            continue
        unit = np.nanstd(whole[name].to_numpy(float))
        if unit > 0:
            numbers.append(np.sqrt(np.mean((truth.astype(float) - pd.to_numeric(pd.Series(said)).to_numpy(float)) ** 2)) / unit)
    return np.mean(numbers) if numbers else np.nan, np.mean(wrong) if wrong else np.nan


def processor():
    return sum(getattr(resource.getrusage(who), part) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN) for part in ("ru_utime", "ru_stime"))


def main():
    warnings.filterwarnings("ignore")
    words_of = sys.argv[1:]
    seed, only = 1, None
    for flag in ("--seed", "--only"):
        if flag in words_of:
            at = words_of.index(flag)
            value = words_of[at + 1]
            del words_of[at : at + 2]
            seed, only = (int(value), only) if flag == "--seed" else (seed, value.split(","))
    folder, program, *chosen = words_of
    peers = {
        "mean or commonest": commonest,
        "mereo fill": mereo(program),
        "IterativeImputer": iterative,
        "KNNImputer(15)": neighbours,
        "Lace": lace,
    }
    for path in sorted(Path(folder).glob("*.csv")):
        if chosen and path.stem not in chosen:
            continue
        whole, words, hide = table(path, program, seed)
        masked = whole.mask(hide)
        print(f"{path.stem}: {len(whole)} rows, {whole.shape[1]} columns ({len(words)} of words), {hide.sum()} cells hidden", flush=True)
        for peer, fill in peers.items():
            if only and not any(word.lower() in peer.lower() for word in only):
                continue
            began, worked = time.perf_counter(), processor()
            try:
                filled = fill(masked.copy(), words)
            except Exception as error:  # what a peer cannot do is told, not hidden
                print(f"  {peer:<20} failed: {str(error)[:120]}", flush=True)
                continue
            took = time.perf_counter() - began, processor() - worked
            nrmse, wrong = errors(filled, whole, words, hide)
            print(f"  {peer:<20} nrmse {nrmse:.4f}  wrong {wrong:.4f}  {took[0]:.1f} s ({took[1]:.1f} of processor)", flush=True)
        if not only or any(word in "mereo" for word in only):
            draws(program, masked, whole, words, hide)


if __name__ == "__main__":
    main()
