"""Peers on the sizes that `mereo-benches` times, in the same run of `cargo xtask bench`.

Prints the median time of one pass of scikit-learn's diagonal and full Gaussian mixtures, k-means,
factor analysis and NMF, and of its whole PCA, on two threads; compare with the lines that
mereo-benches prints. Words as arguments choose among them by name.
"""

import statistics
import sys
import time
import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import NMF, PCA, FactorAnalysis
from sklearn.mixture import GaussianMixture

ROWS, COLUMNS = 20_000, 361


def seconds_a_pass(fit, few=3, many=13, times=3):
    """The difference between a long and a short run, which leaves the start out."""

    def once(passes):
        began = time.perf_counter()
        fit(passes)
        return time.perf_counter() - began

    return statistics.median((once(many) - once(few)) / (many - few) for _ in range(times))


def asked(name):
    return len(sys.argv) < 2 or any(word in name for word in sys.argv[1:])


def main():
    warnings.filterwarnings("ignore")
    random = np.random.default_rng(1)
    looks = random.uniform(-1, 1, (12, COLUMNS))
    shown = random.integers(0, 12, (ROWS, 6))
    groups = np.arange(COLUMNS) * 6 // COLUMNS
    x = looks[shown[:, groups], np.arange(COLUMNS)]
    x = (x + random.uniform(-0.3, 0.3, x.shape)).astype(np.float32)

    def mixture(count, kind):
        def run(passes):
            GaussianMixture(count, covariance_type=kind, tol=0, max_iter=passes, init_params="random_from_data",
                            random_state=0).fit(x)

        return run

    def means(passes):
        KMeans(72, init="random", n_init=1, tol=0, max_iter=passes, algorithm="lloyd", random_state=0).fit(x)

    if asked("mixture"):
        diagonal, full = mixture(60, "diag"), mixture(20, "full")
        print(f"scikit-learn diagonal mixture of 60: {1e3 * seconds_a_pass(diagonal):.1f} ms a pass")
        print(f"scikit-learn full mixture of 20: {1e3 * seconds_a_pass(full, 1, 4, 1):.0f} ms a pass")

    def factors(passes):
        FactorAnalysis(24, tol=0, max_iter=passes, random_state=0).fit(x)

    def nmf(loss, solver):
        def run(passes):
            NMF(72, init="random", beta_loss=loss, solver=solver, tol=0, max_iter=passes, random_state=0).fit(positive)

        return run

    def whole_pca():
        began = time.perf_counter()
        PCA(50).fit(x)
        return time.perf_counter() - began

    if asked("k-means"):
        print(f"scikit-learn k-means of 72: {1e3 * seconds_a_pass(means):.1f} ms a pass")
    if not asked("linear"):
        return
    positive = x + np.float32(1.3)
    kl, frobenius = nmf("kullback-leibler", "mu"), nmf("frobenius", "cd")
    print(f"scikit-learn PCA of 50: {1e3 * statistics.median(whole_pca() for _ in range(5)):.1f} ms in all")
    print(f"scikit-learn factor analysis of 24: {1e3 * seconds_a_pass(factors):.1f} ms a pass")
    print(f"scikit-learn NMF of 72, KL: {1e3 * seconds_a_pass(kl):.1f} ms a pass")
    print(f"scikit-learn NMF of 72, Frobenius: {1e3 * seconds_a_pass(frobenius):.1f} ms a pass")


if __name__ == "__main__":
    main()
