"""What others measured on real TPUs and published, each with where it was read and what was different there."""

from __future__ import annotations

from dataclasses import dataclass

IMAGENET = 1_281_167
"""Images in ImageNet's training set, which is what an epoch is."""


@dataclass(frozen=True)
class Part:
    """A step of which a published training did a number.

    Attributes:
        model: A name in `plan_models.MODELS`.
        batch_size: Rows in the global batch.
        steps: How many of them; one where the training had one kind of step only.
        layers: Layers of the model where that is too deep to compile: it is compiled with two and with four of them, and
            each of the others is taken to be as long as those between. 0 for the model as it is.
    """

    model: str
    batch_size: int
    steps: int = 1
    layers: int = 0


@dataclass(frozen=True)
class Published:
    """A published figure.

    Attributes:
        name: What was trained on what, as the benchmark's ``--only`` takes it.
        target: The slice.
        parts: The steps that were done.
        precision: As `tpu.plan` takes it; ``"float32"`` leaves products to the TPU's default, one pass in bfloat16.
        examples_per_second: Rows a second over all devices.
        worked_out: How that follows from what is printed at the source; ``""`` where it is printed there.
        source: Where it was read.
        date: Year and month of the measurement.
        differs: What was different from the plan's step.
    """

    name: str
    target: str
    parts: tuple[Part, ...]
    precision: str
    examples_per_second: float
    worked_out: str
    source: str
    date: str
    differs: str


_DAWN = "github.com/stanford-futuredata/dawn-bench-entries, ImageNet/train/google_resnet50_tpu_tensorflow"
_FLAX = "github.com/google/flax, examples/imagenet/README.md and configs/tpu.py"
_XLA = "github.com/pytorch/xla, "

PUBLISHED: tuple[Published, ...] = (
    Published(
        "resnet50-v2-8-tf1.11",
        "v2-8",
        (Part("resnet50", 1024),),
        "bfloat16",
        89 * IMAGENET / ((8.003106 - 0.104944) * 3600),
        "89 epochs from hour 0.1049 to 8.0031",
        _DAWN + "111.tsv and pull 58",
        "2018-09",
        "evaluation of 50,000 images and a checkpoint in every epoch; TensorFlow 1.11; images from disk",
    ),
    Published(
        "resnet50-v2-8-tf1.8",
        "v2-8",
        (Part("resnet50", 1024),),
        "bfloat16",
        89 * IMAGENET / ((9.889843 - 0.142976) * 3600),
        "89 epochs from hour 0.1430 to 9.8898",
        _DAWN + "18.tsv and pull 20",
        "2018-04",
        "as above, five months earlier; TensorFlow 1.8",
    ),
    Published(
        "resnet50-v3-8-flax",
        "v3-8",
        (Part("resnet50", 1024),),
        "bfloat16",
        125_100 * 1024 / (4.4 * 3600),
        "125,100 steps of 1,024 in 4.4 hours",
        _FLAX,
        "2021 or soon after",
        "evaluation included; images from memory",
    ),
    Published(
        "resnet50-v3-8-xla",
        "v3-8",
        (Part("resnet50", 1024),),
        "float32",
        570 * 8,
        "570 images a second and core",
        _XLA + "pull 4030",
        "2022-09",
        "PyTorch/XLA on fake images; 550 to 580 were seen",
    ),
    Published(
        "resnet50-v4-8-xla",
        "v4-8",
        (Part("resnet50", 512),),
        "float32",
        1447.92 * 4,
        "1,447.9 images a second and device",
        _XLA + "pull 5720 and test/test_train_mp_imagenet.py",
        "2023-10",
        "PyTorch/XLA on fake images",
    ),
    Published(
        "vit-s16-v3-8",
        "v3-8",
        (Part("vit-s16", 1024),),
        "float32",
        90 * 0.99 * IMAGENET / (6.5 * 3600),
        "90 epochs of 99 % of ImageNet in 6 to 7 hours",
        "github.com/google-research/big_vision, big_vision/configs/vit_s16_i1k.py",
        "2022-05",
        "Flax; evaluation, mixup and checkpoints included; first moments in bfloat16",
    ),
    Published(
        "bert-large-v3-32",
        "v3-32",
        (Part("bert-large-128", 512, 900_000, 24), Part("bert-large-512", 512, 100_000, 24)),
        "float32",
        1_000_000 * 512 / (81.4 * 3600),
        "1,000,000 steps of 512 in 81.4 hours, nine tenths of them with 128 tokens and the rest with 512",
        "You et al., arxiv.org/abs/1904.00962, table 1, first row (16 TPU v3 chips)",
        "2019-04",
        "TensorFlow; words' embeddings shared with the last layer; next-sentence prediction; precision not told",
    ),
    Published(
        "gpt-124m-v6e-1",
        "v6e-1",
        (Part("gpt-124m", 8),),
        "bfloat16",
        107_000 / 2048,
        "107,000 tokens a second, 2,048 a row",
        "github.com/vorushin/tpuchat, BLOG_LOG.md and 02_train.py",
        "2026-02",
        "on Colab; plain JAX; weights and moments in bfloat16, rotary embeddings, normalised queries and keys, three of "
        "four layers see 1,024 tokens back, embeddings of values",
    ),
)
"""Everything that the plan is compared with, beside the peak rates of the chips."""
