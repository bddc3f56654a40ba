"""Traps say what is true of a prepared fit, name the line to type, and are silent when all is well."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import keras
import numpy as np
import pytest

from colab_tpu_magic.checking.fit_together import DoesNotFitTogether
from colab_tpu_magic.errors import ModelError
from colab_tpu_magic.rewrite.batch_hooks import wants_every_batch
from colab_tpu_magic.rewrite.model_parts import fixed_batch_size, refuse_what_cannot_move
from colab_tpu_magic.rewrite.prepared import FitRequest, PreparedFit
from colab_tpu_magic.rewrite.sources import array_source
from colab_tpu_magic.rewrite.traps import TRAPS
from colab_tpu_magic.rewrite.traps.data import DATA_TRAPS

from .test_train_step import LogsComputeLoss, Mixed, WithPlainMean, WithSum

JAX_8 = SimpleNamespace(replicas=8, engine=SimpleNamespace(name="jax", settles=False))
TF_2 = SimpleNamespace(replicas=2, engine=SimpleNamespace(name="tensorflow", settles=True))
MODEL_TRAPS = [trap for trap in TRAPS if trap not in DATA_TRAPS]
TF_1 = SimpleNamespace(replicas=1, engine=SimpleNamespace(name="tensorflow", settles=True))


def sequential(*layers, optimizer="adam"):
    model = keras.Sequential([keras.Input((4,)), *layers, keras.layers.Dense(1)])
    model.compile(optimizer, "mse")
    return model


def prepared(model=None, runtime=JAX_8, grown=1, callbacks=(), **values):
    data = array_source(np.zeros((640, 4), "float32"), np.zeros((640, 1), "float32"))
    model = model if model is not None else sequential()
    request = FitRequest(model, data, None, 32, 32, 1, callbacks=tuple(callbacks))
    return PreparedFit(request, runtime.replicas, data, None, 32 * grown, 1, **values)


def found(fit, runtime=JAX_8):
    return {
        finding.trap: (finding.severity, finding.sentence)
        for trap in MODEL_TRAPS
        for finding in trap.look(fit, runtime)
    }


def test_traps_have_a_source_and_an_id_of_their_own():
    assert len({trap.id for trap in TRAPS}) == len(TRAPS)
    assert all(trap.title and trap.source for trap in TRAPS)


def test_every_trap_has_its_row_in_the_document():
    page = (Path(__file__).parents[2] / "docs" / "traps.md").read_text()
    assert [trap.id for trap in (*TRAPS, DoesNotFitTogether()) if f"`{trap.id}`" not in page] == []


@pytest.mark.parametrize("runtime", [JAX_8, TF_2, TF_1])
def test_ordinary_fit_has_no_finding(runtime):
    callbacks = [keras.callbacks.EarlyStopping(), keras.callbacks.ModelCheckpoint("m.keras")]
    assert found(prepared(runtime=runtime, grown=4, callbacks=callbacks, steps_per_execution=8), runtime) == {}


@pytest.mark.parametrize(
    ("model", "says", "type_next"),
    [
        (WithSum, "WithSum.train_step makes its loss by itself", "loss = loss / tf.distribute"),
        (Mixed, "Mixed.train_step mixes losses of Keras with means", "loss = loss / tf.distribute"),
        (WithPlainMean, "it trains with 2 times the learning rate", "loss = loss / tf.distribute"),
        (LogsComputeLoss, "the figure shown is 1/2 of the loss", "tracker.update_state(loss * tf.distribute"),
    ],
)
def test_train_step_of_ones_own_is_named_on_tensorflow_replicas_only(model, says, type_next):
    own = model()
    own.compile("adam", "mse")
    severity, sentence = found(prepared(own, TF_2), TF_2)["custom-train-step"]
    assert severity == "warning" and says in sentence and type_next in sentence
    assert found(prepared(own, JAX_8), JAX_8) == found(prepared(own, TF_1), TF_1) == {}


def test_mean_that_the_rule_divides_is_no_finding():
    own = WithPlainMean()
    own.compile("adam", "mse")
    assert found(prepared(own, TF_2, gradient_divisor=2), TF_2) == {}


def test_schedule_accumulation_and_saving_count_steps_of_a_grown_batch():
    rate = keras.optimizers.schedules.CosineDecay(0.1, decay_steps=800)
    model = sequential(optimizer=keras.optimizers.SGD(rate, gradient_accumulation_steps=8))
    saving = keras.callbacks.ModelCheckpoint("m.keras", save_freq=100)
    fit = prepared(model, grown=4, callbacks=[saving])
    findings = [finding for trap in MODEL_TRAPS for finding in trap.look(fit, JAX_8)]
    sentences = [finding.sentence for finding in findings if finding.trap == "counted-in-steps"]
    assert "CosineDecay(..., decay_steps=200)" in sentences[0] and "grew 4 times" in sentences[0]
    assert "1,024 rows for one update instead of 256" in sentences[1]
    assert sentences[2].endswith("save_freq=25")
    assert found(prepared(model, grown=1, callbacks=[saving])) == {}


def test_scheduler_callback_under_a_grown_batch_is_told_the_factor():
    callback = keras.callbacks.LearningRateScheduler(lambda epoch: 0.1)
    severity, sentence = found(prepared(grown=4, callbacks=[callback]))["rate-set-by-callback"]
    assert severity == "warning" and "multiply it by 2." in sentence
    assert found(prepared(grown=1, callbacks=[callback])) == {}


def test_smallest_rate_of_a_plateau_is_compared_with_the_scaled_one():
    callback = keras.callbacks.ReduceLROnPlateau(min_lr=0.001)
    fit = prepared(grown=4, callbacks=[callback], learning_rate=0.02, rate_factor=2.0)
    assert found(fit)["rate-set-by-callback"] == (
        "note",
        "ReduceLROnPlateau(min_lr=0.001) is compared with the scaled rate, which is 2 times yours during the fit. "
        "Type: min_lr=0.002",
    )


def test_callbacks_for_batches_are_named_where_several_steps_go_out_at_once():
    callbacks = (keras.callbacks.TerminateOnNaN(), keras.callbacks.EarlyStopping())
    _, sentence = found(prepared(callbacks=callbacks, steps_per_execution=4))["batches-told-in-groups"]
    assert sentence.startswith("TerminateOnNaN is told of batches every 4 steps only")
    assert found(prepared(callbacks=callbacks)) == {}


def test_batch_normalization_of_few_rows_a_replica_is_a_warning_and_of_many_a_note():
    model = sequential(keras.layers.BatchNormalization())
    assert found(prepared(model, TF_2), TF_2)["statistics-per-replica"][0] == "note"
    few = replace(prepared(model, TF_2), batch_size=8)
    severity, sentence = found(few, TF_2)["statistics-per-replica"]
    assert severity == "warning" and "with the 4 rows of one replica" in sentence
    assert found(prepared(model, JAX_8)) == {}
    model.layers[0].trainable = False
    assert found(prepared(model, TF_2), TF_2) == {}


def test_mask_that_reaches_the_loss_is_a_note_on_tensorflow_replicas():
    model = keras.Sequential(
        [keras.Input((6,)), keras.layers.Embedding(9, 2, mask_zero=True), keras.layers.LSTM(2, return_sequences=True)]
    )
    model.compile("adam", "mse")
    assert "unmasked" in found(prepared(model, TF_2), TF_2)["statistics-per-replica"][1]


def test_only_callbacks_that_use_their_batch_hooks_want_every_batch(tmp_path):
    kinds = keras.callbacks
    path = str(tmp_path / "m.keras")
    assert wants_every_batch((kinds.ModelCheckpoint(path), kinds.BackupAndRestore(path), kinds.CSVLogger(path))) == []
    assert wants_every_batch((kinds.LambdaCallback(on_epoch_end=print), kinds.EarlyStopping())) == []
    wanting = (
        kinds.ModelCheckpoint(path, save_freq=10),
        kinds.BackupAndRestore(path, save_freq=10),
        kinds.LambdaCallback(on_train_batch_end=print),
    )
    assert wants_every_batch(wanting) == ["ModelCheckpoint", "BackupAndRestore", "LambdaCallback"]


def test_model_made_for_one_batch_size_is_known_and_must_divide():
    model = keras.Sequential([keras.Input((3, 2), batch_size=12), keras.layers.LSTM(2, stateful=True)])
    assert (fixed_batch_size(model), fixed_batch_size(sequential())) == (12, None)
    with pytest.raises(ModelError, match="12 rows, which do not divide over 8") as refused:
        refuse_what_cannot_move(model, JAX_8, 8)
    assert refused.value.type_next == "keras.Input(..., batch_size=16)"
    refuse_what_cannot_move(model, JAX_8, 1)


def test_sequential_that_keras_built_from_a_batch_takes_batches_of_any_size():
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(np.zeros((16, 4), "float32"), np.zeros((16, 1), "float32"), batch_size=16, verbose=0)
    assert fixed_batch_size(model) is None


def classifier(*last, loss="sparse_categorical_crossentropy", functional=False):
    inputs = outputs = keras.Input((4,))
    if functional:
        for layer in last:
            outputs = layer(outputs)
    model = keras.Model(inputs, outputs) if functional else keras.Sequential([inputs, *last])
    model.compile("adam", loss)
    return model


@pytest.mark.parametrize("functional", [False, True])
@pytest.mark.parametrize(
    ("loss", "type_next"),
    [
        ("sparse_categorical_crossentropy", "loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True)"),
        ("CategoricalCrossentropy", "loss=keras.losses.CategoricalCrossentropy(from_logits=True)"),
        (keras.losses.BinaryCrossentropy(), "loss=keras.losses.BinaryCrossentropy(from_logits=True)"),
        (keras.losses.categorical_crossentropy, "loss=keras.losses.CategoricalCrossentropy(from_logits=True)"),
    ],
)
def test_loss_of_probabilities_after_a_linear_layer_is_a_warning(loss, type_next, functional):
    model = classifier(keras.layers.Dense(3), loss=loss, functional=functional)
    severity, sentence = found(prepared(model))["logits-without-softmax"]
    assert severity == "warning" and sentence.endswith(type_next) and repr(model.layers[-1].name) in sentence


@pytest.mark.parametrize("functional", [False, True])
def test_probabilities_logits_that_are_told_and_what_is_not_certain_are_no_finding(functional):
    dense = keras.layers.Dense
    told = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    for model in (
        classifier(dense(3, activation="softmax"), functional=functional),
        classifier(dense(3), keras.layers.Softmax(), functional=functional),
        classifier(dense(3), keras.layers.Activation("softmax"), functional=functional),
        classifier(dense(3), loss=told, functional=functional),
        classifier(dense(1), loss="mse", functional=functional),
    ):
        assert found(prepared(model)) == {}


def test_output_that_an_operation_makes_of_a_linear_layer_is_no_finding():
    inputs = keras.Input((4,))
    model = keras.Model(inputs, keras.ops.softmax(keras.layers.Dense(3)(inputs)))
    model.compile("adam", "sparse_categorical_crossentropy")
    assert found(prepared(model)) == {}
