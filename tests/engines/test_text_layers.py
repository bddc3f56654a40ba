"""Rule ``text-layers``: text goes in, the model's own first layers run on the host, and the rest trains as by hand."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

import colab_tpu_magic as tpu

from .models import changed, training

ROWS, SIZE, LENGTH = 40, 8, 6
WORDS = "a tiny tpu learns words that no other chip has read".split()
OPTIONS = {"batch_size": "keep", "learning_rate": "keep"}
FIT = {"batch_size": SIZE, "epochs": 2, "shuffle": False}


def texts(rows: int = ROWS) -> tuple[np.ndarray, np.ndarray]:
    """Return sentences of 1 to 6 words (rows,) and labels (rows,)."""
    rng = np.random.default_rng(0)
    x = np.array([" ".join(rng.choice(WORDS, rng.integers(1, LENGTH + 1))) for _ in range(rows)])
    return x, np.array(["tpu" in one for one in x]).astype("int32")


def compiled(model: keras.Model) -> keras.Model:
    model.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True), metrics=["accuracy"])
    return model


def layers(mask: bool) -> list[keras.layers.Layer]:
    return [
        keras.layers.Embedding(20, 4, mask_zero=mask),
        keras.layers.GlobalAveragePooling1D(),
        keras.layers.Dense(1, name="last"),
    ]


def sequential(length: int | None = LENGTH, mask: bool = False, given: bool = False) -> keras.Model:
    """Return a Sequential that begins with words, with an Input before it or without."""
    keras.utils.set_random_seed(1)
    words = keras.layers.TextVectorization(20, output_sequence_length=length, name="words")
    words.adapt(texts()[0])
    first = [keras.Input((), dtype="string")] if given else []
    return compiled(keras.Sequential([*first, words, *layers(mask)]))


def several() -> keras.Model:
    """Return a functional model of text, a category, integers that are looked up, and numbers."""
    keras.utils.set_random_seed(1)
    text, kind = keras.Input((), dtype="string", name="text"), keras.Input((1,), dtype="string", name="kind")
    place, number = keras.Input((1,), dtype="int64", name="place"), keras.Input((3,), name="number")
    words = keras.layers.TextVectorization(20, output_mode="multi_hot", name="words")
    words.adapt(texts()[0])
    parts = [
        words(text),
        keras.layers.StringLookup(vocabulary=["red", "blue"], output_mode="one_hot", name="kinds")(kind),
        keras.layers.CategoryEncoding(7, name="places")(keras.layers.Hashing(7, name="hash")(place)),
        number,
    ]
    parts = [keras.ops.cast(part, "float32") for part in parts]
    return compiled(keras.Model([text, kind, place, number], keras.layers.Dense(1)(keras.layers.Concatenate()(parts))))


def by_hand(model: keras.Model, x: np.ndarray, y: np.ndarray) -> tuple[dict, keras.Model]:
    """Return the history of plain Keras on a twin of a Sequential, and the twin without its first layer."""
    numbers = keras.ops.convert_to_numpy(model.layers[0](x)).astype("int32")
    rest = keras.Sequential([keras.Input((None,), dtype="int32"), *model.layers[1:]])
    return compiled(rest).fit(numbers, y, verbose=0, **FIT).history, rest


def close(ours: dict, theirs: dict) -> None:
    for name, values in theirs.items():
        np.testing.assert_allclose(ours[name], values, atol=2e-6, err_msg=name)


@pytest.mark.parametrize("given", [False, True])
def test_training_from_text_equals_the_split_by_hand_and_the_model_holds_it(given, runtime):
    x, y = texts()
    with training(**OPTIONS) as cell:
        model = sequential(given=given)
        history = model.fit(x if given else x.tolist(), y, **FIT, validation_data=(x[:13], y[:13])).history
        inside = model.predict(x[:11])
        figures = model.evaluate(x[:13], y[:13], return_dict=True)
    theirs, rest = by_hand(sequential(given=True), x, y)
    close(history, theirs)
    for ours, other in zip(model.get_weights(), rest.get_weights(), strict=True):
        np.testing.assert_allclose(ours, other, atol=2e-5)
    assert figures["accuracy"] == pytest.approx(history["val_accuracy"][-1])
    numbers = keras.ops.convert_to_numpy(model.layers[0](x[:11])).astype("int32")
    np.testing.assert_allclose(inside, rest.predict(numbers, verbose=0), atol=2e-5)
    assert changed(cell.runs[0])["text-layers"] == (
        "words (TextVectorization) inside the model",
        "run on the CPU for each batch, and the model trains from the layer after them",
    )
    assert "call" not in vars(model) and model.layers[1].output.shape == (None, LENGTH, 4)
    if runtime.backend == "tensorflow":  # Keras on JAX computes with no strings at all
        np.testing.assert_allclose(model.predict(tf.constant(x[:11]), verbose=0), inside, atol=2e-5)


@pytest.mark.only("tensorflow")
def test_training_from_text_equals_plain_keras_on_tensorflow():
    x, y = texts()
    with training(**OPTIONS):
        ours = sequential().fit(x, y, **FIT).history
    close(ours, sequential().fit(tf.constant(x), y, verbose=0, **FIT).history)


@pytest.mark.parametrize("form", ["dataset", "rows", "generator"])
def test_text_in_every_form_of_data_trains_alike(form):
    x, y = texts()
    batches = [(x[at : at + SIZE], y[at : at + SIZE]) for at in range(0, ROWS, SIZE)]
    data = {
        "dataset": lambda: (tf.data.Dataset.from_tensor_slices((x, y)).batch(SIZE),),
        "rows": lambda: (tf.data.Dataset.from_tensor_slices((x, y)),),
        "generator": lambda: (lambda: iter(batches),),
    }[form]()
    sizes = FIT if form == "rows" else {"epochs": 2, "shuffle": False}
    with training(**OPTIONS):
        model = sequential()
        ours = model.fit(*data, **sizes).history
        assert model.predict(data[0]).shape == (ROWS, 1)
    close(ours, by_hand(sequential(given=True), x, y)[0])


def test_text_categories_and_numbers_train_from_a_dict():
    x, y = texts()
    rng = np.random.default_rng(0)
    data = {
        "text": x,
        "kind": rng.choice(["red", "blue", "other"], ROWS).astype(object),
        "place": rng.integers(0, 50, ROWS),
        "number": rng.normal(size=(ROWS, 3)),
    }
    with training(**OPTIONS) as cell:
        model = several()
        before = model.get_weights()
        history = model.fit(data, y, **FIT).history
        again = model.fit([*data.values()], y, **FIT).history
        predicted = model.predict(data)
    layer = {one.name: one for one in model.layers}
    made = np.concatenate(
        [
            np.asarray(layer["words"](x)),
            np.asarray(layer["kinds"](data["kind"][:, None])),
            np.asarray(layer["places"](layer["hash"](data["place"][:, None]))),
            data["number"],
        ],
        axis=1,
    ).astype("float32")
    rest = compiled(keras.Sequential([keras.Input(made.shape[1:]), keras.layers.Dense(1)]))
    rest.set_weights(before)
    close(history, rest.fit(made, y, verbose=0, **FIT).history)
    close(again, rest.fit(made, y, verbose=0, **FIT).history)
    np.testing.assert_allclose(predicted, rest.predict(made, verbose=0), atol=2e-5)
    assert "words (TextVectorization)" in changed(cell.runs[0])["text-layers"][0]


@pytest.mark.parametrize("mask", [True, False])
def test_texts_of_any_length_are_padded_and_the_change_says_what_that_does(mask):
    x, y = texts()
    with training(**OPTIONS) as cell:
        ours = sequential(None, mask).fit(x, y, **FIT).history
    (change,) = [one for one in cell.runs[0].changes if one.rule == "text-layers"]
    assert change.after.endswith("rows padded with zeros to the longest, 6")
    assert ("The padding changes no result" in change.why) == mask
    twin = sequential(LENGTH, mask, given=True)
    close(ours, by_hand(twin, x, y)[0])


def test_a_checkpoint_in_mid_fit_holds_the_whole_model(tmp_path):
    x, y = texts()
    with training(**OPTIONS):
        model = sequential(given=True)
        model.fit(x, y, **FIT, callbacks=[keras.callbacks.ModelCheckpoint(tmp_path / "whole.keras")])
    loaded = keras.models.load_model(tmp_path / "whole.keras")
    assert [type(layer) for layer in loaded.layers] == [type(layer) for layer in model.layers]
    with training(**OPTIONS):
        np.testing.assert_allclose(loaded.predict(x), model.predict(x), atol=1e-6)


def test_the_step_is_compiled_once_for_two_fits_of_a_cell():
    x, y = texts()
    with training(**OPTIONS, no=("jit-compile",)) as cell:
        model = sequential(given=True)
        model.fit(x, y, **FIT)
        kept = cell._kept[id(model)][2]["train_function"]
        model.fit(x, y, **FIT)
        assert kept is not None and cell._kept[id(model)][2]["train_function"] is kept
        compiled(model)
        model.fit(x, y, **FIT)
        assert cell._kept[id(model)][2]["train_function"] is not kept
    assert model.train_function is None


def test_text_that_is_missing_is_named():
    x, y = texts()
    holed = x.astype(object)
    holed[3] = None
    with pytest.raises(tpu.DataError, match="x has missing values: 1 of 40 rows, row 3 the first, which is None"):
        with training(**OPTIONS):
            sequential().fit(holed, y, **FIT)


class OwnCall(keras.Model):
    """A subclassed model, whose call nobody can cut."""

    def __init__(self, words: keras.layers.Layer) -> None:
        super().__init__()
        self.words, self.last = words, keras.layers.Dense(1)

    def call(self, inputs):
        return self.last(self.words(inputs))


class OwnStep(keras.Model):
    """A functional model with a train_step that may ask for an input by its name."""

    def train_step(self, *args):
        return super().train_step(*args)


def test_text_layers_that_cannot_be_taken_out_are_named_with_the_line_that_moves_them(runtime):
    x, y = texts()
    words = keras.layers.TextVectorization(20, output_mode="multi_hot", name="words")
    words.adapt(x)
    if runtime.backend == "tensorflow" and runtime.replicas == 1:
        return
    whole = several()
    cases = [
        (compiled(OwnCall(words)), {}, "code of its own"),
        (compiled(keras.Sequential([keras.Input((), dtype="string"), words])), {}, "no layer comes after it"),
        (compiled(OwnStep(whole.inputs, whole.outputs)), {}, "take the inputs apart"),
        (sequential(), {"no": ("text-layers",)}, "--no text"),
    ]
    for model, options, reason in cases:
        with pytest.raises(tpu.ModelError, match=f"'words'.*{reason}") as refused, training(**options):
            model.fit(x, y)
        assert "(x, y)).batch(32).map(lambda text, label: (words(text), label))" in str(refused.value)


def test_a_check_looks_at_text_in_arrays_and_says_what_it_does_not_look_at():
    x, y = texts()
    model = sequential(given=True)
    report = tpu.check(model, x, y)
    assert "text-layers" in {change.rule for change in report.changes}
    assert not [finding for finding in report.findings if finding.level == "error"]
    unbuilt, batches = sequential(), tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
    for looked_at, data in ((unbuilt, (x, y)), (model, (batches, None))):
        report = tpu.check(looked_at, *data)
        assert any("begins with text" in finding.message for finding in report.findings)
        assert not report.changes
    assert not unbuilt.built


def test_numbers_that_are_no_integers_come_out_of_the_text_as_they_are():
    """A Sequential casts floats to the dtype of its Input, which is text."""
    x, y = texts()
    made = []
    for text in (True, False):
        keras.utils.set_random_seed(1)
        words = keras.layers.TextVectorization(20, output_mode="tf_idf")
        words.adapt(x)
        numbers = keras.ops.convert_to_numpy(words(x))
        first = [keras.Input((), dtype="string"), words] if text else [keras.Input(numbers.shape[1:])]
        model = compiled(keras.Sequential([*first, keras.layers.Dense(1)]))
        data = x if text else numbers
        with training(**OPTIONS):
            made.append((model.fit(data, y, **FIT).history, model.predict(data[:5])))
        assert model.autocast
    close(made[0][0], made[1][0])
    np.testing.assert_allclose(made[0][1], made[1][1], atol=2e-6)


def test_a_standardize_of_the_users_own_is_called_as_keras_calls_it(runtime):
    x, y = texts()

    def lower(text):
        return np.char.lower(text) if isinstance(text, np.ndarray) else tf.strings.lower(text)

    def made():
        keras.utils.set_random_seed(1)
        words = keras.layers.TextVectorization(20, standardize=lower, name="words")
        words.adapt(x)
        return compiled(keras.Sequential([words, *layers(True)]))

    with training(**OPTIONS):
        ours = made().fit(np.char.upper(x), y, **FIT).history
    close(ours, by_hand(made(), x, y)[0])


def test_text_without_a_word_trains_and_predicts(runtime):
    x, y = texts()
    model = sequential(length=None, mask=True, given=True)
    empty = np.full(SIZE, "")
    batches = tf.data.Dataset.from_tensor_slices((np.concatenate([empty, x]), np.concatenate([y[:SIZE], y])))
    with training(**OPTIONS):
        model.fit(batches.batch(SIZE))
        alone = model.predict(["", "  "])
    assert alone.shape == (2, 1)


def test_layers_that_were_not_adapted_and_values_that_they_refuse_are_named():
    x, y = texts()
    model = compiled(keras.Sequential([keras.layers.TextVectorization(20, name="words"), *layers(False)]))
    known = keras.layers.StringLookup(vocabulary=["red"], num_oov_indices=0, name="kinds")
    strict = compiled(keras.Sequential([keras.Input((1,), dtype="string"), known, *layers(False)]))
    for looks, data, said in (
        (model, x, r"'words' \(TextVectorization\) was not adapted"),
        (
            strict,
            np.array(["red", "blue"] * 20)[:, None],
            "cannot take x: When `num_oov_indices=0` all inputs should be in vocabulary, found OOV",
        ),
    ):
        with pytest.raises(tpu.TpuMagicError, match=said), training(**OPTIONS):
            looks.fit(data, y, **FIT)


def test_text_in_the_place_of_numbers_is_told_by_the_inputs_name():
    x, y = texts()
    model = several()
    parts = {"text": x, "kind": x, "place": np.arange(ROWS), "number": np.zeros((ROWS, 3), "float32")}
    for name, wrong in (("text", parts["number"][:, 0]), ("number", x)):
        with pytest.raises(tpu.DataError, match=rf"^x\['{name}'\] holds"), training(**OPTIONS):
            model.fit({**parts, name: wrong}, y, **FIT)
    with pytest.raises(tpu.DataError, match="text, kind, place, number, in this order") as told, training(**OPTIONS):
        model.fit([parts[name] for name in ("number", "kind", "place", "text")], y, **FIT)
    assert "x = {'text': ..., 'kind': ...," in str(told.value)
    with pytest.raises(tpu.DataError, match="x is one string"), training(**OPTIONS):
        sequential(given=True).predict("a tiny tpu")
