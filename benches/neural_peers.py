"""Auto-encoders beside PyTorch's: digits learned from in a second, the same networks, batches, optimiser and threads.

    python neural_peers.py [MEREO] [--threads N] [--passes N]

MEREO is the program (else `mereo` in target/release). Needs torch. Two networks: a dense variational one (2 x 200 tanh, 50 codes, Bernoulli cells drawn
anew at every pass, batches of 100) and a convolutional auto-encoder of one layer (16 filters of 3 x 3, every second pixel, 32 codes). The time of one pass is
that of several less that of one, so that reading and starting do not count; the two programs take turns, and the best turn of each is told. Told
as well: the share of the time that the matrix products alone would take, measured in the same run by PyTorch's own product of such a size.
Skipped where ../shared/data is absent.
"""

import argparse
import gzip
import pathlib
import subprocess
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
DIGITS = ROOT.parent / "shared" / "data" / "mnist" / "train-images-idx3-ubyte.gz"
ROWS = 20_000
TURNS = 3

parser = argparse.ArgumentParser()
parser.add_argument("mereo", nargs="?", default=str(ROOT / "target" / "release" / "mereo"))
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--passes", type=int, default=4)
given = parser.parse_args()

NETWORKS = {
    "dense variational": (
        ["vae", "--code", "50", "--encoder", "dense 200, tanh, dense 200, tanh", "--decoder-kind", "bernoulli"]
        + ["--binarise", "--batch", "100"],
        # Multiply-adds of a row, forwards.
        2 * (784 * 200 + 200 * 200) + 200 * 100 + 50 * 200,
    ),
    "convolutional": (
        ["ae", "--code", "32", "--encoder", "conv 16x3/2, relu", "--loss", "cross-entropy", "--batch", "100"],
        2 * (14 * 14 * 16 * 9) + 2 * (14 * 14 * 16 * 32),
    ),
}


def ours(options, data, folder):
    def seconds(passes):
        began = time.perf_counter()
        out = pathlib.Path(folder) / "model.safetensors"
        command = [given.mereo, "--quiet", "fit", options[0], str(data), *options[1:], "--epochs", str(passes)]
        command += ["--threads", str(given.threads), "--force", "-o", str(out)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - began

    return ROWS * given.passes / (seconds(1 + given.passes) - seconds(1))


def theirs(name, x):
    import torch
    from torch import nn

    torch.manual_seed(0)
    torch.set_num_threads(given.threads)
    x = torch.from_numpy(x)
    if name == "convolutional":
        x = x.reshape(-1, 1, 28, 28)
        net = nn.Sequential(
            nn.Conv2d(1, 16, 3, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(14 * 14 * 16, 32),
            nn.Linear(32, 14 * 14 * 16), nn.ReLU(), nn.Unflatten(1, (16, 14, 14)),
            nn.ConvTranspose2d(16, 1, 3, 2, 1, output_padding=1),
        )  # fmt: skip
        parameters = list(net.parameters())

        def loss(rows):
            return nn.functional.binary_cross_entropy_with_logits(net(rows), rows, reduction="sum") / len(rows)
    else:
        up = nn.Sequential(nn.Linear(784, 200), nn.Tanh(), nn.Linear(200, 200), nn.Tanh(), nn.Linear(200, 100))
        down = nn.Sequential(nn.Linear(50, 200), nn.Tanh(), nn.Linear(200, 200), nn.Tanh(), nn.Linear(200, 784))
        parameters = [*up.parameters(), *down.parameters()]

        def loss(rows):
            rows = torch.bernoulli(rows)
            mean, log = up(rows).chunk(2, 1)
            code = mean + torch.exp(0.5 * log) * torch.randn_like(mean)
            error = nn.functional.binary_cross_entropy_with_logits(down(code), rows, reduction="sum")
            return (error - 0.5 * (1 + log - mean**2 - log.exp()).sum()) / len(rows)

    optimiser = torch.optim.Adam(parameters, lr=1e-3)

    def one_pass():
        order = torch.randperm(ROWS)
        for first in range(0, ROWS, 100):
            optimiser.zero_grad()
            loss(x[order[first : first + 100]]).backward()
            optimiser.step()

    one_pass()
    began = time.perf_counter()
    for _ in range(given.passes):
        one_pass()
    return ROWS * given.passes / (time.perf_counter() - began)


def products():
    """Multiply-adds in a second of products such as a batch has."""
    import torch

    torch.set_num_threads(given.threads)
    a, b = torch.randn(100, 784), torch.randn(784, 200)
    a @ b
    began, times = time.perf_counter(), 0
    while time.perf_counter() - began < 0.5:
        a @ b
        times += 1
    return times * 100 * 784 * 200 / (time.perf_counter() - began)


def main():
    if not DIGITS.is_file():
        print("skipped: there is no ../shared/data/mnist")
        return
    with gzip.open(DIGITS) as file:
        x = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784)[:ROWS].astype(np.float32) / 255
    print(f"{ROWS} digits, {given.threads} threads, best of {TURNS} turns\n")
    print(f"{'':<20} {'mereo':>12} {'PyTorch':>12} {'ratio':>8} {'products alone':>16}")
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder) / "digits.npy"
        np.save(data, x.reshape(-1, 28, 28))
        for name, (options, work) in NETWORKS.items():
            turns = [(ours(options, data, folder), theirs(name, x), products()) for _ in range(TURNS)]
            own, peer, rate = (max(column) for column in zip(*turns))
            # Backwards there are twice as many as forwards.
            print(f"{name:<20} {own:>10.0f}/s {peer:>10.0f}/s {own / peer:>8.2f} {own * 3 * work / rate:>16.2f}")


main()
