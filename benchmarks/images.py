"""Compare reading a folder of JPEG files: `tpu.images` beside Keras' `image_dataset_from_directory`.

Images are smooth random ones of 256 × 256, made in a temporary folder. Ways take turns in random order; a
ratio is to Keras in the same repeat. No model trains: the figure is what the pipeline can deliver. "Per
core" is per second of processor time, all threads together, which a busy machine changes little.

Usage: ``python -m benchmarks.images [--quick] [--repeats N] [--count N]``
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from .report import headline, machine, markdown_table, progress, save, spread

SIDE, SIZE, BATCH = 256, (224, 224), 64
COUNT, QUICK_COUNT = 800, 64
REPEATS = 3
SCALED, CUT = "Keras, scaled to 224", "Keras, scaled to 256, middle cut out"


def make_folder(root: Path, count: int) -> None:
    """Write ``count`` JPEG files into two class folders."""
    import tensorflow as tf

    rng = np.random.default_rng(0)
    for at in range(count):
        small = rng.integers(0, 255, (8, 8, 3)).astype("float32")
        image = tf.image.resize(small, (SIDE, SIDE), "bicubic") + rng.normal(0, 4, (SIDE, SIDE, 3))
        pixels = tf.cast(tf.clip_by_value(image, 0, 255), tf.uint8)
        path = root / "ab"[at % 2] / f"{at}.jpg"
        path.parent.mkdir(exist_ok=True)
        tf.io.write_file(str(path), tf.io.encode_jpeg(pixels, quality=90))


def rates_of(batches: Iterable[Any]) -> dict[str, float]:
    """Return how many images a pass delivers in a second, and in a second of one core."""
    began, worked, count = time.perf_counter(), time.process_time(), 0
    for x, _ in batches:
        count += len(x)
    return {"wall": count / (time.perf_counter() - began), "core": count / (time.process_time() - worked)}


def ways(folder: str) -> dict[str, Callable[[], Iterable[Any]]]:
    """Return what is compared: name to a function that gives one pass of batches."""
    import keras
    import tensorflow as tf

    import colab_tpu_magic as tpu
    from colab_tpu_magic.files.notes import notes_of

    top = (SIDE - SIZE[0]) // 2

    def keras_images(side: int) -> Any:
        return keras.utils.image_dataset_from_directory(
            folder, image_size=(side, side), batch_size=BATCH, verbose=False
        )

    def middle(x: Any, y: Any) -> Any:
        return x[:, top : top + SIZE[0], top : top + SIZE[1]], y

    def ours(**arguments: Any) -> Callable[[], Iterable[Any]]:
        notes = notes_of(tpu.images(folder, SIZE, BATCH, seed=0, **arguments))
        assert notes is not None and notes.batches is not None
        batches = notes.batches
        return lambda: batches(BATCH, False)

    scaled = keras_images(SIZE[0])
    cut = keras_images(SIDE).map(middle, num_parallel_calls=tf.data.AUTOTUNE)
    kept = ours()
    for _ in kept():  # the first epoch fills the cache
        pass
    return {
        SCALED: scaled.as_numpy_iterator,
        CUT: cut.as_numpy_iterator,
        "ours, scaled to 224": ours(cache=False),
        "ours, middle cut out while decoding": ours(crop=True, cache=False),
        "ours, from the second epoch": kept,
    }


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="show that it works; the figures mean nothing")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--count", type=int, default=COUNT, help="images")
    arguments = parser.parse_args()
    os.environ.setdefault("KERAS_BACKEND", "jax")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    about = machine()
    count, repeats = (QUICK_COUNT, 1) if arguments.quick else (arguments.count, arguments.repeats)
    found: dict[str, list[dict[str, float]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        progress(f"Writing {count} JPEG files …")
        make_folder(Path(folder), count)
        compared = ways(folder)
        for repeat in range(repeats):
            for name in random.Random(repeat).sample(list(compared), len(compared)):
                found[name].append(rates_of(compared[name]()))
                progress(f"{repeat + 1}/{repeats} {name}: {found[name][-1]['wall']:,.0f} images/s")
    print(headline(about) + "\n")
    print(report(found))
    save("images", {"about": about, "count": count, "images_per_second": found})


def report(found: dict[str, list[dict[str, float]]]) -> str:
    """Return the table: medians of images in a second, and ratios to Keras within each repeat."""
    rows = []
    for name, rates in found.items():
        middles = [f"{statistics.median(one[clock] for one in rates):,.0f}" for clock in ("wall", "core")]
        ratios = [
            spread([one[clock] / other[clock] for one, other in zip(rates, found[way], strict=True)])
            for way, clock in ((SCALED, "wall"), (SCALED, "core"), (CUT, "core"))
        ]
        rows.append([name, *middles, *ratios])
    header = ["way", "images/s", "per core", "to Keras, scaled", "per core", "to Keras, cut, per core"]
    return markdown_table(header, rows)


if __name__ == "__main__":
    main()
