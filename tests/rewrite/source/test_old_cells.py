"""Each old idiom becomes its form of today, once; clean cells stay untouched."""

from __future__ import annotations

import ast

import pytest

from colab_tpu_magic import migrate
from colab_tpu_magic.rewrite.source import looks_old
from colab_tpu_magic.rewrite.source.magic_lines import hide

from ...old_cells import OLD_CELLS

each = pytest.mark.parametrize("cell", OLD_CELLS, ids=[cell.name for cell in OLD_CELLS])


@each
def test_old_cell_becomes_this_cell(cell):
    assert migrate(cell.old).text == cell.new


@each
def test_migrating_again_changes_nothing_more(cell):
    again = migrate(cell.new)
    assert (again.text, again.rewrites, again.refusals) == (cell.new, (), ())


@each
def test_old_cell_is_suspected_by_its_letters(cell):
    # A function as data alone makes no cell old: %%tpu_fit takes it as it is.
    assert looks_old(cell.old) is ({row.rule for row in migrate(cell.old).rewrites} != {"input-function"})


@each
def test_outcome_is_python_with_its_comments(cell):
    ast.parse(hide(cell.new).text)
    for line in cell.old.splitlines():
        if "# " in line and "%" not in line:
            assert line.partition("# ")[2].strip() in cell.new


@each
def test_every_rewrite_names_its_line_reason_and_source(cell):
    lines = cell.old.splitlines()
    result = migrate(cell.old)
    assert result.rewrites
    for row in result.rewrites:
        assert 1 <= row.line <= len(lines)
        assert row.why.endswith(".") and row.source and row.rule
        assert row.before != row.after
        first = row.before.splitlines()[0].split("(")[0].split(" …")[0]
        assert first[:12] in lines[row.line - 1] or row.rule == "lost-indentation", row


CLEAN = (
    "model.compile('adam', 'sparse_categorical_crossentropy', metrics=['acc'])\nmodel.fit(x, y, epochs=5)",
    "data = tf.data.Dataset.from_tensor_slices((x, y)).batch(1024, drop_remainder=True)\nmodel.fit(data)",
    "!pip install -q tensorflow==2.20 keras-hub\nimport keras",
    "opt = keras.optimizers.AdamW(learning_rate=1e-3, weight_decay=1e-4)",
    "print('‘quoted’ text', \"don’t\")  # “comment”",
    "model.load_weights('old.h5')\nmodel.save('model.h5')\nkeras.models.load_model('model.h5')",
    "lr = 0.1\nscheduler = Scheduler(lr=lr, decay=0.1)",
    "y = tf.nn.relu(x)\nz = keras.layers.Dense(3, activation='relu')(tf.nn.softmax(y))",
    "f = tf.nn.relu\nh = keras.layers.Lambda(f)\nd = {'activation': jax.nn.relu}",
    "devices = client.session.list_devices()",
    "a = np.float32(1) + np.bool_(True) + np.int64(3)",
    "classes = forest.predict_proba(x)",
    "os.environ['COLAB_TPU_ADDR'] = 'a'\ndel os.environ['COLAB_TPU_ADDR']",
    "loss = tf.losses.MeanSquaredError()\nif isinstance(v, (np.bool, int)) or issubclass(t, np.bool):\n    pass",
    "from torch.optim import Adam\nopt = Adam(net.parameters(), lr=0.1)",
    "%%bash\npip install tensorflow==1.14\nexport X=${COLAB_TPU_ADDR}",
    "%%time\nmodel.fit(x, y)\n",
    "files = !ls\nprint(files)\n%timeit 1 + 1\nmodel?\n",
    "text = '''\n%tensorflow is not a magic here\n'''\nprint('%s' %\n      text)",
    "",
)


@pytest.mark.parametrize("text", CLEAN)
def test_clean_cell_stays_as_it_is(text):
    result = migrate(text)
    assert (result.text, result.rewrites, result.refusals) == (text, (), ())


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("model.fit(x_train, y_train, epochs=5, validation_data=(x, y))", False),
        ("opt = keras.optimizers.Adam(learning_rate=0.1)\nmodel.compile(opt, 'mse')", False),
        ("import tensorflow as tf\ndata = tf.data.Dataset.range(3)\nfor row in data:\n    print(row)", False),
        ("model.fit(feed, steps_per_epoch=3)", False),
        ("def feed():\n    return data\nmodel.fit(feed)", False),
        ("model.fit(x)", False),
    ],
)
def test_only_what_may_be_old_is_suspected(text, old):
    assert looks_old(text) is old


def test_functions_of_other_cells_are_called_and_arrays_are_not():
    namespace = {"feed": lambda size=3: None, "needs": lambda size: None, "x": 3}
    assert migrate("m.fit(feed, steps_per_epoch=3)", namespace).text == "m.fit(feed(), steps_per_epoch=3)"
    for text in (
        "m.fit(needs, steps_per_epoch=3)",
        "m.fit(x)",
        "m.fit(feed(), steps_per_epoch=3)",
        "forest.fit(x, feed)",
    ):
        assert migrate(text, namespace).text == text


GENERATOR_FUNCTION = "def batches():\n    for i in range(0, 640, 32):\n        yield x[i:i + 32], y[i:i + 32]\n"


def batches():
    """Yield one batch."""
    yield 1, 2


def test_generator_function_is_never_called_by_a_rewrite():
    fit = "m.fit(batches, epochs=2, validation_data=batches)"
    assert migrate(GENERATOR_FUNCTION + fit).text == GENERATOR_FUNCTION + fit
    assert migrate(fit, {"batches": batches}).text == fit
    mixed = migrate(f"{GENERATOR_FUNCTION}o = keras.optimizers.Adam(lr=0.1)\n{fit}")
    assert mixed.text == f"{GENERATOR_FUNCTION}o = keras.optimizers.Adam(learning_rate=0.1)\n{fit}"


def test_function_that_holds_a_generator_function_is_called():
    text = "def feed():\n    def rows():\n        yield 1\n    return tf.data.Dataset.from_generator(rows)\nm.fit(feed)"
    assert migrate(text).text == text.replace("fit(feed)", "fit(feed())")


def test_aliases_of_other_cells_are_known():
    import numpy

    assert migrate("numerics.float(3)", {"numerics": numpy}).text == "float(3)"
    assert migrate("np.float(3)", {"np": object()}).text == "np.float(3)"


def test_old_weight_file_that_is_there_keeps_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "only_new.weights.h5").touch()
    (tmp_path / "both.weights.h5").touch()
    (tmp_path / "both.h5").touch()
    text = "m.load_weights('only_new.h5')\nm.load_weights('both.h5')\nm.load_weights('neither.h5')\n"
    assert migrate(text).text == text.replace("only_new.h5", "only_new.weights.h5")


def test_sizes_counted_for_eight_cores_are_noted_and_kept():
    text = "BATCH_SIZE = 128 * 8\nsteps_per_epoch = len(x) // (BATCH_SIZE // 8)\nmodel.fit(x, y, batch_size=8 * 16)\nside = 4 * 8\n"
    result = migrate(text)
    assert result.text == text and result.rewrites == ()
    assert [(row.line, row.before) for row in result.notes] == [
        (1, "BATCH_SIZE = 128 * 8"),
        (2, "steps_per_epoch = len(x) // (BATCH_SIZE // 8)"),
        (3, "batch_size=8 * 16"),
    ]


def test_line_numbers_are_those_of_the_given_text_after_lines_were_added():
    text = "'''Doc.'''\na = 1\nt = os.environ['COLAB_TPU_ADDR']\nb = np.float(2)\nc = tf.train.AdamOptimizer()\n"
    result = migrate(text)
    assert result.text.splitlines()[1] == "import colab_tpu_magic.legacy"
    assert [(row.line, row.rule) for row in result.rewrites] == [
        (3, "tpu-address"),
        (4, "numpy-aliases"),
        (5, "tf-train-optimizers"),
    ]


def test_classes_of_other_cells_are_known():
    import keras

    class Adam:
        pass

    assert migrate("o = Adam(lr=1)", {"Adam": keras.optimizers.Adam}).text == "o = Adam(learning_rate=1)"
    assert migrate("o = Adam(lr=1)", {"Adam": Adam}).text == "o = Adam(lr=1)"
    assert migrate("o = tf.optimizers.SGD(lr=1)").text == "o = tf.optimizers.SGD(learning_rate=1)"


def test_comments_inside_what_is_replaced_move_above_it():
    old = "m = keras_to_tpu_model(\n    model,  # ours\n    # on all cores\n    strategy=s)\n"
    assert migrate(old).text == "# ours\n# on all cores\nm = model\n"


def test_expression_in_the_place_of_a_call_keeps_its_meaning():
    assert migrate("keras_to_tpu_model(a or b).fit(x)").text == "(a or b).fit(x)"
