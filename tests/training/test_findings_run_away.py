"""A loss that has run away is told; noise and a bad start are not."""

import pytest

from colab_tpu_magic.training.findings import findings
from colab_tpu_magic.training.run import Run
from colab_tpu_magic.training.series import Series


def run_with(*losses):
    loss = Series("loss", list(range(1, len(losses) + 1)), list(losses))
    return Run("TPU (v5e-1)", train={"loss": loss}, learning_rate=Series("learning rate", [1], [1000.0]))


def test_a_loss_far_above_its_start_is_told_with_the_rate():
    (sentence,) = findings(run_with(0.7, 0.01, 14.0, 14.5, 14.2))
    assert sentence == (
        "The loss has run away: it began at 0.7, was 0.01 at best, and is 14.2. "
        "Lower the learning rate (it is 1000), and begin from fresh weights: these are spoilt."
    )


@pytest.mark.parametrize(
    "losses",
    [(0.7, 0.5, 0.4, 0.3), (0.7, 0.01, 1.5, 1.4), (0.7, 0.1, 9.0, 0.2), (0.7, 14.0), (-1.0, -2.0, 5.0, 6.0)],
)
def test_a_loss_that_is_lower_noisy_short_or_below_zero_is_not(losses):
    assert findings(run_with(*losses)) == []
