import sys

import pytest

from colab_tpu_magic.errors import OptionError
from colab_tpu_magic.training.run import Run
from colab_tpu_magic.training.series import Series


def make_run(**fields):
    return Run(
        **{"device": "a test", "replicas": 8, "global_batch_size": 64, "epochs": 2, "steps_per_epoch": 4} | fields
    )


def test_the_batch_is_shared_by_the_replicas():
    assert make_run().per_replica_batch_size == 8
    assert make_run(replicas=1).per_replica_batch_size == 64


def test_loss_is_the_first_metric_and_none_is_listed_twice():
    run = make_run(
        train={"accuracy": Series("accuracy"), "loss": Series("loss")}, validation={"auc": Series("val_auc")}
    )
    run.validation["loss"] = Series("val_loss")
    assert run.metric_names == ["loss", "accuracy", "auc"]


def test_metrics_are_columns_with_validation_at_the_last_step_of_its_epoch():
    run = make_run(
        train={"loss": Series("loss", [2, 4, 6, 8], [4.0, 3.0, 2.0, 1.0])},
        validation={"loss": Series("val_loss", [4, 8], [3.5, 1.5])},
    )
    assert run.metrics == {
        "step": [2, 4, 6, 8],
        "epoch": [1, 1, 2, 2],
        "loss": [4.0, 3.0, 2.0, 1.0],
        "val_loss": [None, 3.5, None, 1.5],
    }


def test_an_empty_run_has_empty_columns():
    assert make_run().metrics == {"step": [], "epoch": []}


@pytest.mark.parametrize(("step", "epoch"), [(0, 1), (1, 1), (4, 1), (5, 2), (8, 2)])
def test_a_step_belongs_to_its_epoch(step, epoch):
    assert make_run().epoch_of(step) == epoch


def test_without_known_steps_the_epoch_of_now_is_returned():
    assert make_run(steps_per_epoch=None, epoch=3).epoch_of(100) == 3


def test_the_speed_is_that_of_the_time_per_step_whatever_else_the_run_did():
    run = make_run(step=11, compile_seconds=5.0, duration_seconds=15.0, train_seconds=2.0, timed_steps=10)
    assert run.examples_per_second() == run.global_batch_size / run.step_seconds == 320.0
    assert make_run(step=11, compile_seconds=5.0, duration_seconds=15.0).examples_per_second() == 64.0


def test_the_overall_speed_leaves_out_the_first_step_and_its_compilation_only():
    run = make_run(step=11, compile_seconds=5.0, duration_seconds=15.0, train_seconds=2.0, timed_steps=10)
    assert run.overall_examples_per_second() == 64.0


@pytest.mark.parametrize("fields", [{"step": 1}, {"step": 9, "compile_seconds": 15.0}])
def test_there_is_no_overall_speed_before_two_steps_or_without_time(fields):
    assert make_run(duration_seconds=15.0, **fields).overall_examples_per_second() is None


def test_the_repr_is_one_line_of_where_it_stands():
    run = make_run(status="stopped", epoch=1, step=3)
    assert repr(run) == "<Run stopped: epoch 1/2, step 3, a test>"


def test_each_run_has_its_own_series():
    first, second = make_run(), make_run()
    first.train["loss"] = Series("loss")
    assert second.train == {}


def test_a_dataframe_has_the_metrics_and_the_learning_rate_of_each_row():
    pytest.importorskip("pandas")
    run = make_run(
        train={"loss": Series("loss", [2, 4, 6], [4.0, 3.0, 2.0])},
        validation={"loss": Series("val_loss", [4], [3.5])},
        learning_rate=Series("learning rate", [3, 6], [0.1, 0.01]),
    )
    table = run.to_dataframe()
    assert table.columns.tolist() == ["step", "epoch", "loss", "val_loss", "learning_rate"]
    assert table["learning_rate"].tolist() == [0.1, 0.1, 0.01]
    assert table["val_loss"].isna().tolist() == [True, False, True]


def test_without_pandas_a_dataframe_says_what_to_type(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(OptionError, match=r"needs pandas, which is not installed.\nType: %pip install pandas"):
        make_run().to_dataframe()


def test_an_empty_run_has_an_empty_dataframe():
    pytest.importorskip("pandas")
    assert make_run().to_dataframe().shape == (0, 3)
