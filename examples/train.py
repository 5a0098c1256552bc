# SPDX-License-Identifier: Apache-2.0
"""Trains a small network on scikit-learn's handwritten digits; `--profile DIR` captures part of it.

    python examples/train.py --profile /tmp/digits

Everything the profiler needs is here: one `profile(...)` around the steps to look at, step
annotations so that tools can count steps, and three regions that say what the program was doing.
Outside a capture the regions cost almost nothing, so they stay in the code.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import pathlib
import time
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_digits

from dew.telemetry.profile import Profiler, profile, region

BATCH = 256
LAYERS = (64, 512, 512, 10)  # 8x8 pixels in, ten digits out
LEARNING_RATE = 0.1


class Layer(NamedTuple):
    weight: jax.Array  # (inputs, outputs)
    bias: jax.Array  # (outputs,)


Network = list[Layer]


def new_network(seed: int) -> Network:
    keys = jax.random.split(jax.random.key(seed), len(LAYERS) - 1)
    return [
        Layer(jax.random.normal(key, (n_in, n_out)) * (2 / n_in) ** 0.5, jnp.zeros(n_out))
        for key, n_in, n_out in zip(keys, LAYERS[:-1], LAYERS[1:], strict=True)
    ]


def logits(network: Network, pixels: jax.Array) -> jax.Array:
    hidden = pixels
    for layer in network[:-1]:
        hidden = jax.nn.relu(hidden @ layer.weight + layer.bias)
    return hidden @ network[-1].weight + network[-1].bias


def loss(network: Network, pixels: jax.Array, digits: jax.Array) -> jax.Array:
    chosen = jnp.take_along_axis(
        jax.nn.log_softmax(logits(network, pixels)), digits[:, None], axis=1
    )
    return -jnp.mean(chosen)


@jax.jit
def update(network: Network, pixels: jax.Array, digits: jax.Array) -> tuple[Network, jax.Array]:
    value, slope = jax.value_and_grad(loss)(network, pixels, digits)
    return jax.tree.map(lambda p, g: p - LEARNING_RATE * g, network, slope), value


@jax.jit
def accuracy(network: Network, pixels: jax.Array, digits: jax.Array) -> jax.Array:
    return jnp.mean(jnp.argmax(logits(network, pixels), axis=1) == digits)


class Digits:
    """The data set, split once into training and test rows."""

    def __init__(self, seed: int) -> None:
        bunch = load_digits()
        self._random = np.random.default_rng(seed)
        order = self._random.permutation(len(bunch.target))
        pixels = (bunch.data / 16.0).astype(np.float32)[order]
        digits = bunch.target.astype(np.int32)[order]
        self._train = (pixels[:1500], digits[:1500])
        self.test = (jnp.asarray(pixels[1500:]), jnp.asarray(digits[1500:]))

    def batch(self) -> tuple[jax.Array, jax.Array]:
        """A random batch with a little noise on the pixels, as an input pipeline would make it."""
        rows = self._random.integers(0, len(self._train[1]), BATCH)
        noise = self._random.normal(0, 0.05, (BATCH, LAYERS[0])).astype(np.float32)
        return jnp.asarray(self._train[0][rows] + noise), jnp.asarray(self._train[1][rows])


def train(network: Network, data: Digits, first: int, last: int, every: int) -> Network:
    """Steps first..last-1; an evaluation after each `every`-th."""
    for step in range(first, last):
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            with region("input"):
                pixels, digits = data.batch()
            with region("step"):
                network, value = update(network, pixels, digits)
            if (step + 1) % every == 0:
                with region("evaluation"):
                    right = float(accuracy(network, *data.test))
                    print(f"step {step + 1:4d}   loss {float(value):.3f}   test {right:.1%}")
    return network


def show(profiler: Profiler, seconds: float) -> None:
    """What lies on the disk now."""
    capture = profiler.capture
    assert capture is not None
    print(f"\nCaptured and reported in {seconds:.1f} s. The capture:")
    for file in sorted(capture.rglob("*.xplane.pb")):
        print(f"  {file.stat().st_size:>9,} bytes  {file}")
    if profiler.reports == "wait":  # else they come later, or not at all
        index = json.loads((capture / "reports" / "reports.json").read_text())
        print("\nXProf's reports, byte for byte as its converter gives them:")
        for report in index["reports"]:
            size = f"{report['bytes']:>9,} bytes" if report.get("bytes") else " " * 15
            print(f"  {size}  {report['tool']:<26} {report['status']}")
        if any(report["status"] == "empty" for report in index["reports"]):
            print("  empty: made, but without rows; reports.json says why")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300, help="how many steps to train")
    parser.add_argument("--profile", metavar="DIR", type=pathlib.Path, help="capture into DIR")
    parser.add_argument("--window", type=int, default=100, help="how many steps to capture")
    arguments = parser.parse_args()

    data = Digits(seed=0)
    network = new_network(seed=1)
    # The first steps compile; a capture of them would show little else.
    before = max(arguments.steps - arguments.window, 1)
    network = train(network, data, 0, before, every=50)
    profiler = profile(arguments.profile) if arguments.profile else None
    began = time.monotonic()
    with profiler or contextlib.nullcontext():
        train(network, data, before, arguments.steps, every=50)
    if profiler:
        show(profiler, time.monotonic() - began)


if __name__ == "__main__":
    main()
