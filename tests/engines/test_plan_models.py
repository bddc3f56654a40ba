"""The models that plans are compared with published figures on do the work that those have."""

from __future__ import annotations

import os

import pytest

from benchmarks.plan_models import bert, gpt, vit
from benchmarks.plan_steps import doubled, matmul, summed
from colab_tpu_magic.planner.lower import lower

pytestmark = pytest.mark.skipif(
    not os.environ.get("TPU_MAGIC_ENGINE", "").startswith("jax-1"), reason="the comparison is made on JAX"
)


def test_models_have_the_weights_that_are_told_of_them() -> None:
    """Of a transformer's layer of width w they are 12 · w² + 13 · w. A whole ResNet-50 takes half a minute to make."""
    tokens, patches = gpt(32, 128, 1)[0], vit(64, 2, 2)[0]
    # Places, two words of width 128 for each token, one layer, a normalisation.
    assert tokens.count_params() == 32 * 128 + 2 * 32_768 * 128 + (12 * 128**2 + 13 * 128) + 2 * 128
    # Patches of 16 × 16 × 3, two layers, a normalisation, two dense layers.
    ends = (768 + 1) * 64 + 2 * 64 + (64 + 1) * 64 + (64 + 1) * 1000
    assert patches.count_params() == ends + 2 * (12 * 64**2 + 13 * 64)


def test_products_and_sums_are_done_on_every_device() -> None:
    assert matmul(8, 256).flops == 8 * 2 * 256**3
    assert doubled(8).bytes_of("batch") == summed(8).bytes_of("batch") == 2 * 128 * 56 * 56 * 256


def test_only_the_masked_tokens_are_predicted() -> None:
    """Two layers of width 128: 12 · 128² weights each and attention over 16 tokens; the head on 4 of them."""
    model, rows, masked = bert(16, 4, layer_count=2, width=128)
    counted = lower(model, rows, masked, devices=1, batch_size=8).flops
    layer = 16 * 2 * 12 * 128**2 + 2 * 2 * 16 * 16 * 128
    assert counted == pytest.approx(8 * 3 * (2 * layer + 4 * 2 * (128 * 128 + 128 * 30_522)), rel=0.02)


def test_every_token_is_predicted_by_a_language_model() -> None:
    model, tokens, following = gpt(32, 128, 1)
    assert model.output_shape == (None, 32, 32_768)
    layer = 32 * 2 * 12 * 128**2 + 2 * 2 * 32 * 32 * 128
    counted = lower(model, tokens, following, devices=1, batch_size=4).flops
    assert counted == pytest.approx(4 * 3 * (layer + 32 * 2 * 128 * 32_768), rel=0.02)
