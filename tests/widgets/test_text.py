import math

import pytest

from colab_tpu_magic.widgets.text import (
    batch_text,
    changes_text,
    ending_text,
    epoch_line,
    final_metrics,
    progress_line,
    progress_text,
    run_summary,
)

from .runs import change, empty_run, finished_run, series


def test_the_batch_shows_what_each_replica_gets():
    assert batch_text(empty_run()) == "1,024 rows = 8 replicas × 128"
    assert batch_text(empty_run(replicas=1)) == "1,024 rows"
    assert batch_text(empty_run(global_batch_size=0)) == "unknown"


def test_one_step_is_not_written_as_steps():
    assert progress_text(empty_run(epoch=1, step=1)) == "epoch 1 of 2, 1 step"
    assert progress_text(finished_run()) == "epoch 2 of 2, 20 steps"


@pytest.mark.parametrize(
    ("status", "text"),
    [
        ("running", "Training is running"),
        ("completed", "Training completed"),
        ("stopped", "Training stopped"),
        ("interrupted", "Training interrupted"),
        ("failed", "Training failed: ValueError: no rows"),
    ],
)
def test_every_status_is_said_in_words(status, text):
    run = finished_run(status=status, error="ValueError: no rows" if status == "failed" else "")
    assert ending_text(run) == text
    assert run_summary(run).startswith(text)


def test_final_metrics_put_loss_first_and_prefer_keras_own_figures():
    run = finished_run(history={"loss": [1.1, 0.55], "val_loss": [1.25, 0.6]})
    assert final_metrics(run) == [("loss", 0.55, 0.6), ("accuracy", 0.875, 0.85)]


def test_a_metric_that_only_the_history_holds_is_not_lost():
    assert final_metrics(empty_run(history={"val_auc": [0.9]})) == [("auc", None, 0.9)]


def test_the_summary_holds_device_batch_speed_metrics_and_changes():
    text = run_summary(finished_run(changes=(change(),)))
    assert text.splitlines()[0] == "Training completed (epoch 2 of 2, 20 steps in 22 s)"
    for part in (
        "8 simulated replicas (v2-8) on CPU, JAX backend",
        "1,024 rows = 8 replicas × 128",
        "1,024 examples/s, first step with compilation 3.0 s",
        "train 0.5, validation 0.625",
        "1 change to your call:",
        "Global batch size  32 → 1,024  (--batch-size keep)",
    ):
        assert part in text


def test_the_summary_of_an_empty_run_says_what_is_not_known():
    text = run_summary(empty_run())
    assert "Training is running (epoch 0 of 2, 0 steps)" in text
    assert "unknown" in text
    assert "Nothing was changed." in text


def test_run_summary_is_what_the_run_itself_returns():
    run = finished_run()
    assert run.summary() == run_summary(run)


def test_changes_are_aligned_one_a_line():
    lines = changes_text([change(), change("dtypes", title="Types", before="float64", after="float32")]).splitlines()
    assert lines[0].startswith("Global batch size  32 → 1,024")
    assert lines[1].startswith("Types              float64 → float32")
    assert changes_text([]) == "nothing was changed"


def test_an_epoch_line_holds_the_epochs_own_values():
    run = finished_run(duration_seconds=None, compile_seconds=None, started=math.inf)
    assert epoch_line(run) == "epoch 2/2 · loss 0.5 · accuracy 0.875 · val_loss 0.625 · val_accuracy 0.85"
    first = epoch_line(run, epoch=1, after=0, until=10)
    assert first == "epoch 1/2 · loss 1 · accuracy 0.75 · val_loss 1.25 · val_accuracy 0.7"


def test_an_epoch_without_validation_shows_no_older_validation_value():
    run = finished_run(validation={"loss": series("val_loss", {10: 1.25})})
    assert "val_loss" not in epoch_line(run)


def test_an_epoch_line_ends_with_the_speed():
    assert epoch_line(finished_run()).endswith("1,024 examples/s")


def test_the_progress_line_says_that_the_step_is_being_compiled():
    assert progress_line(empty_run(epoch=1)) == "epoch 1/2 · step 0/10 · compiling the training step…"


def test_the_summary_holds_what_was_measured_and_every_finding():
    text = run_summary(
        finished_run(
            device="TPU (v5e-8)", nan_step=12, compilations=4, compiling_seconds=41.0, batch_shapes=4, timed_steps=19,
            train_seconds=0.19, data_wait_seconds=0.019, learning_rate=series("learning rate", {1: 0.1, 20: 0.01}),
        )
    )  # fmt: skip
    lines = [line.strip() for line in text.splitlines()]
    assert "Time per step             10.0 ms = 1.0 waiting for data + 9.0 computing" in lines
    assert "Compilations              4 in 41 s" in lines
    assert "Learning rate at the end  0.01" in lines
    assert "Best epoch                2, validation loss 0.625" in lines
    notes = [line for line in lines if line.startswith("Note: ")]
    assert [note.split(" ", 3)[:3] for note in notes] == [["Note:", "The", "loss"], ["Note:", "The", "step"]]
