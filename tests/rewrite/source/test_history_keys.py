"""The metric's old name is written anew only where the code proves which name it has today."""

from __future__ import annotations

import pytest

from colab_tpu_magic import migrate
from colab_tpu_magic.rewrite.source import Context, migrate_source
from colab_tpu_magic.rewrite.source.history_keys import metrics_in

READ = "plt.plot(h.history['acc'])\nEarlyStopping(monitor='val_acc')\n"
PROVES = "m.compile('adam', 'mse', metrics=['accuracy'])\n"
NOT_PROVEN = [
    READ,
    "m.compile('adam', 'mse', metrics=['acc'])\n" + READ,
    "m.compile('adam', 'mse', ['mae'])\n" + READ,
    PROVES + "n.compile('adam', 'mse', metrics=['mae', 'acc'])\n" + READ,
    PROVES + "n.compile('adam', 'mse', metrics=[acc])\n" + READ,
    PROVES + "n.compile('adam', 'mse', metrics=[keras.metrics.BinaryAccuracy(name='acc')])\n" + READ,
    PROVES + "print(mine['acc'], {'acc': 1}, results.get('val_acc'))\n",
]


@pytest.mark.parametrize("text", NOT_PROVEN)
def test_acc_stays_where_it_may_be_the_name_of_today(text):
    assert "'accuracy'" not in migrate(text).text.removeprefix(PROVES)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (READ, READ.replace("acc'", "accuracy'")),
        ('if logs.get("acc") > 0.9: pass', 'if logs.get("accuracy") > 0.9: pass'),
        ("a = logs['val_acc']", "a = logs['val_accuracy']"),
        ("ReduceLROnPlateau('val_acc', 0.5)", "ReduceLROnPlateau('val_accuracy', 0.5)"),
        (
            "ModelCheckpoint('{epoch:02d}-{val_acc:.2f}.keras', 'val_acc')",
            "ModelCheckpoint('{epoch:02d}-{val_accuracy:.2f}.keras', 'val_accuracy')",
        ),
        ("ModelCheckpoint(filepath='{acc}.keras')", "ModelCheckpoint(filepath='{accuracy}.keras')"),
    ],
)
def test_acc_becomes_accuracy_where_a_model_is_compiled_with_that(old, new):
    assert migrate(PROVES + old).text == PROVES + new
    assert {row.rule for row in migrate(PROVES + old).rewrites} == {"history-keys"}


def test_what_other_cells_compile_with_proves_it_too():
    assert migrate_source(READ, Context(metrics=frozenset({"accuracy"}))).text == READ.replace("acc'", "accuracy'")
    assert migrate_source(READ, Context(metrics=frozenset({"accuracy", "acc"}))).text == READ


def test_names_and_strings_of_metrics_are_read():
    import libcst as cst

    text = "m.compile(o, 'mse', metrics={'a': ['accuracy', f], 'b': keras.metrics.Mean(name='z')})\nre.compile('x')"
    assert {"accuracy", "f", "z"} <= metrics_in(cst.parse_module(text))
    assert "x" not in metrics_in(cst.parse_module(text))
