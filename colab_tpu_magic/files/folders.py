"""List the images of a folder whose sub-folders are classes, and split them as Keras does."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from ..errors import DataError
from .paths import list_parent

ENDINGS = (".bmp", ".gif", ".jpeg", ".jpg", ".png")


@dataclass(frozen=True)
class Listing:
    """Image files in a fixed order.

    Attributes:
        paths: Of the files.
        labels: Class of each, ``(files,)`` int32; all 0 without classes.
        class_names: Names of the sub-folders, sorted.
    """

    paths: tuple[str, ...]
    labels: np.ndarray
    class_names: tuple[str, ...]

    def picked(self, order: np.ndarray) -> Listing:
        """Return some of the files, in an order."""
        return Listing(tuple(self.paths[at] for at in order), self.labels[order], self.class_names)


def listing(folder: str, with_classes: bool) -> Listing:
    """Return the images below a folder, sorted by class, then by folder, then by name.

    Raises:
        DataError: When the folder, its classes or its images are not there.
    """
    if not os.path.isdir(folder):
        raise DataError(
            f"There is no folder {folder!r}.",
            expected=f"a folder; the working folder is {os.getcwd()}.",
            type_next=list_parent(folder),
        )
    names: tuple[str, ...] = ()
    if with_classes:
        entries = sorted(os.listdir(folder))
        names = tuple(one for one in entries if os.path.isdir(os.path.join(folder, one)) and not one.startswith("."))
        if not names:
            raise DataError(
                f"The folder {folder!r} has no sub-folders, whose names would be the classes.",
                expected="one sub-folder of images for each class, or labels=None.",
                type_next=f"tpu.images({folder!r}, labels=None)",
            )
    paths: list[str] = []
    labels: list[int] = []
    for label, name in enumerate(names or ("",)):
        found = _images_below(os.path.join(folder, name))
        paths += found
        labels += [label] * len(found)
    if not paths:
        raise DataError(f"There is no image in {folder!r}.", expected=f"files that end in {', '.join(ENDINGS)}.")
    return Listing(tuple(paths), np.array(labels, "int32"), names)


def split(files: Listing, share: float | None, subset: str | None, shuffle: bool, seed: int | None) -> Listing:
    """Return the part of the files that a subset names, mixed first when shuffled.

    The same seed gives the same files as ``image_dataset_from_directory`` in each subset.

    Args:
        files: All files.
        share: Of the files that are kept for validation, or None.
        subset: ``"training"``, ``"validation"`` or None for all.
        shuffle: Whether files are mixed before they are split.
        seed: Of the mixing.

    Raises:
        DataError: When the arguments do not fit together.
    """
    if (share is None) != (subset is None) or subset not in (None, "training", "validation"):
        raise DataError(
            f"validation_split={share!r} and subset={subset!r} do not go together.",
            expected='both, subset being "training" or "validation"; or neither.',
            type_next='tpu.images(folder, validation_split=0.2, subset="training", seed=0)',
        )
    if share is not None and not 0 < share < 1:
        raise DataError(f"validation_split={share} cannot be used.", expected="a share between 0 and 1.")
    if share is not None and shuffle and seed is None:
        raise DataError(
            "A split of mixed files needs a seed, so that training and validation get different ones.",
            expected="the same seed in both calls.",
            type_next=f'tpu.images(folder, validation_split={share}, subset="{subset}", seed=0)',
        )
    count = len(files.paths)
    order = np.arange(count)
    if shuffle and seed is not None:
        np.random.RandomState(seed).shuffle(order)
    if share is not None:
        kept = int(share * count)
        order = order[:-kept] if subset == "training" and kept else order[count - kept :] if kept else order
        if not kept or not len(order):
            raise DataError(
                f"validation_split={share} of {count} images leaves nothing to train or to validate on.",
                expected="at least one image on each side.",
            )
    return files.picked(order)


def _images_below(folder: str) -> list[str]:
    return [
        os.path.join(root, name)
        for root, _, names in sorted(os.walk(folder, followlinks=False), key=lambda found: found[0])
        for name in sorted(names)
        if name.lower().endswith(ENDINGS)
    ]
