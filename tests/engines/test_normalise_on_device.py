"""Rule ``normalise-on-device``: the same training, bit for bit, with a quarter of the bytes on the way."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import keras
import numpy as np
import pytest

from colab_tpu_magic.errors import OptionError
from colab_tpu_magic.options import FitOptions
from colab_tpu_magic.rewrite.feed import Feed
from colab_tpu_magic.rewrite.prepared import PreparedFit
from colab_tpu_magic.rewrite.rules.normalise_on_device import NormaliseOnDevice
from colab_tpu_magic.rewrite.sources import array_source
from colab_tpu_magic.training.trials import Trials, TrialSettings
from tests.engines.models import changed, training

ROWS = 1503


def pictures() -> tuple[np.ndarray, np.ndarray]:
    """Return float64 (1503, 14, 14), pixels / 255.0 as people write it, and labels."""
    pixels = np.random.default_rng(0).integers(0, 256, (ROWS, 14, 14)).astype("uint8")
    return pixels / 255.0, (pixels[:, 0, 0] > 99).astype("int32")


def network() -> keras.Model:
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [keras.Input((14, 14)), keras.layers.Flatten(), keras.layers.Dense(8), keras.layers.Dense(2)]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=["accuracy"])
    return model


def trained(x, y, callbacks=(), **options):
    """Return weights, history and run of two epochs with validation."""
    model = network()
    with training(seed=3, **options) as cell:
        model.fit(x, y, epochs=2, batch_size=64, validation_split=0.05, callbacks=list(callbacks))
    return model.get_weights(), cell.runs[0].history, cell.runs[0]


@pytest.fixture
def travelling(monkeypatch):
    """Keep the dtypes of the inputs that any feed gives."""
    seen: set[str] = set()
    given = Feed.__iter__

    def watched(self):
        for batch in given(self):
            seen.add(str(keras.tree.flatten(batch)[0].dtype))
            yield batch

    monkeypatch.setattr(Feed, "__iter__", watched)
    return seen


@pytest.mark.only("jax")
@pytest.mark.parametrize(
    "options",
    [{}, {"no": "static-shapes"}, pytest.param({"no": "scope"}, marks=pytest.mark.eight)],
    ids=["full", "own-last", "one"],
)
def test_weights_and_losses_are_the_same_bit_for_bit(options, travelling):
    x, y = pictures()
    weights, history, run = trained(x, y, **options)
    assert travelling == {"float32"} and "normalise-on-device" not in changed(run)
    travelling.clear()
    coded_weights, coded_history, coded_run = trained(x, y, normalise_on_device=True, **options)
    assert travelling == {"uint8", "float32"}, "the validation stays as it is"
    for plain, coded in zip(weights, coded_weights, strict=True):
        assert (plain.view(np.uint32) == coded.view(np.uint32)).all()
    assert history == coded_history
    assert changed(coded_run)["normalise-on-device"] == (
        "float32, 50.2 KB a batch",
        "uint8 codes, 12.5 KB a batch, made float32 again on the device (256 values, checked for all 1,427 rows)",
    )


def acts(runtime, options=None, callbacks=()) -> bool:
    """Say whether the rule writes codes of the pictures."""
    x, y = pictures()
    data = array_source(x.astype("float32"), y)
    prepared = PreparedFit(SimpleNamespace(callbacks=callbacks), 1, data, None, 64, 1)
    return NormaliseOnDevice().apply(prepared, runtime, options or FitOptions()).coded is not None


@pytest.mark.only("jax")
def test_data_that_a_callback_may_write_into_stays(runtime):
    class Darker(keras.callbacks.EarlyStopping):
        def on_epoch_end(self, epoch, logs=None):
            x[:] = x / 2

    x, asked = pictures()[0], FitOptions(normalise_on_device=True)
    assert acts(runtime, asked, [keras.callbacks.EarlyStopping(), keras.callbacks.ReduceLROnPlateau()])
    assert not acts(runtime, asked, [Darker()])
    assert not acts(runtime, asked, [keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: None)])


@pytest.mark.only("jax")
def test_it_acts_by_itself_only_where_a_device_has_a_memory_of_its_own(runtime):
    kinds = ("tpu", "gpu", "cpu", "simulated")
    assert {kind for kind in kinds if acts(replace(runtime, kind=kind))} == {"tpu", "gpu"}


@pytest.mark.only("jax")
def test_the_preview_of_a_form_does_not_look_at_every_value(runtime):
    trials = Trials(network(), *pictures(), {}, replace(runtime, kind="tpu"), lambda options, begin: None)
    prepared = trials.preview(TrialSettings())
    assert prepared.coded is None and "dtypes" in {change.rule for change in prepared.changes}


@pytest.mark.only("jax")
@pytest.mark.parametrize("values", [2, 3, 100, 256])
def test_the_choice_for_a_tpu_and_the_gather_give_the_very_bits(values):
    import jax

    from colab_tpu_magic.backends.jax_decode import decoder

    table = np.linspace(-1, 1, values).astype("float32")
    table[0] = -0.0
    codes = np.arange(values, dtype="uint8").repeat(8).reshape(8, -1)
    for platform in ("tpu", "gpu", "cpu"):
        batch = decoder((table, None), platform, lambda leaf: None)((codes, codes))
        assert isinstance(batch[0], jax.Array) and batch[1] is codes and not batch[0].weak_type
        assert (np.asarray(batch[0]).view(np.uint32) == table[codes].view(np.uint32)).all()


@pytest.mark.only("jax")
def test_codes_become_floats_where_the_batch_lies(runtime):
    engine = runtime.engine
    decode = engine.decoder((np.array([0, 1], "float32"),))
    even, odd = decode((np.zeros((16, 4), "uint8"),))[0], decode((np.zeros((3, 4), "uint8"),))[0]
    assert len(even.sharding.device_set) == len(odd.sharding.device_set) == engine.replicas
    assert even.addressable_shards[0].data.shape == (16 // engine.replicas, 4)
    assert odd.addressable_shards[0].data.shape == (3, 4)
    alone = engine.decoder((np.array([0, 1], "float32"),), on_replicas=False)((np.zeros((16, 4), "uint8"),))[0]
    assert len(alone.sharding.device_set) == 1


@pytest.mark.only("tensorflow")
def test_tensorflow_says_that_it_cannot_and_never_acts_by_itself():
    x, y = pictures()
    with pytest.raises(OptionError, match="no effect on the TensorFlow backend"):
        trained(x, y, normalise_on_device=True)
    assert "normalise-on-device" not in changed(trained(x[:300], y[:300])[2])
