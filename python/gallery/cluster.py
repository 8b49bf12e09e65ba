"""A cluster: the same bytes as on one machine."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import Client, LocalCluster

from mereo import GaussianMixture
from mereo.dask import fit


def main() -> None:
    X = np.random.default_rng(0).normal(size=(8000, 5))
    X[:4000] += 4
    names = [f"x{i}" for i in range(5)]
    table = pa.table({name: X[:, i] for i, name in enumerate(names)})
    pq.write_table(table, "rows.parquet", row_group_size=1000)

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            there = fit(client, GaussianMixture(n_components=2, random_state=0), "rows.parquet")
    here = GaussianMixture(n_components=2, random_state=0).fit(table)
    there.save("there.safetensors")
    here.save("here.safetensors")
    with open("there.safetensors", "rb") as a, open("here.safetensors", "rb") as b:
        assert a.read() == b.read()
    print("the same bytes")


if __name__ == "__main__":
    main()
