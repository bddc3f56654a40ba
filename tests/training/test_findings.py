import pytest

from colab_tpu_magic.training.findings import device_noun, findings
from colab_tpu_magic.training.run import Run
from colab_tpu_magic.training.series import Series
from colab_tpu_magic.training.step_time import step_milliseconds, step_texts

TPU = "TPU (v5e-8), 8 replicas, JAX backend"
STARVED = {"train_seconds": 3.1, "timed_steps": 100, "data_wait_seconds": 1.922}


def make_run(**fields):
    return Run(**{"device": TPU, "replicas": 8, "global_batch_size": 64, "epochs": 5, "steps_per_epoch": 500} | fields)


def test_a_run_that_is_fine_has_no_findings():
    assert findings(make_run()) == []
    assert findings(make_run(train_seconds=3.0, timed_steps=100, data_wait_seconds=0.5, compilations=1)) == []


def test_a_loss_that_is_not_a_number_is_told_with_its_step_and_epoch():
    rate = Series("learning rate", [1, 2], [0.5, 0.1])
    (sentence,) = findings(make_run(nan_step=1204, learning_rate=rate))
    assert sentence.startswith(
        "The loss is not a number since step 1,204 (epoch 3). Lower the learning rate (it was 0.1), "
    )
    assert "(it was" not in findings(make_run(nan_step=1204))[0]


def test_a_device_that_waits_for_data_is_told_with_its_share_and_what_to_type():
    (sentence,) = findings(make_run(**STARVED))
    assert sentence.startswith(
        "The TPU waited 62 % of the time for data: a step takes 31.0 ms, "
        "of which 19.2 ms waiting and 11.8 ms computing. Give the data faster: "
    )
    assert ".cache()" in sentence
    assert ".prefetch(tf.data.AUTOTUNE)" in sentence


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"data_wait_seconds": 0.63}, True),
        ({"data_wait_seconds": 0.61}, False),
        ({"timed_steps": 2}, True),
        ({"timed_steps": 19, "train_seconds": 0.9, "data_wait_seconds": 0.5}, False),
        ({"timed_steps": 20, "train_seconds": 0.9, "data_wait_seconds": 0.5}, True),
        ({"timed_steps": 0, "train_seconds": 0.0}, False),
    ],
)
def test_waiting_is_told_from_a_fifth_on_and_only_when_enough_was_timed(fields, told):
    assert bool(findings(make_run(**STARVED | fields))) is told


@pytest.mark.parametrize(
    ("device", "noun"),
    [
        (TPU, "The TPU"),
        ("8 simulated replicas (v2-8) on CPU, JAX backend", "The simulated replicas"),
        ("2 GPUs (Tesla T4), JAX backend", "The GPU"),
        ("this machine's CPU, JAX backend", "The device"),
    ],
)
def test_the_device_is_called_what_it_is(device, noun):
    assert device_noun(make_run(device=device)) == noun


@pytest.mark.parametrize(
    ("compilations", "shapes", "told"),
    [(1, 1, False), (2, 1, False), (2, 2, True), (3, 1, True), (5, 5, True), (1, 2, False)],
)
def test_recompiling_is_told_when_it_happened_often_or_for_shapes(compilations, shapes, told):
    assert bool(findings(make_run(compilations=compilations, batch_shapes=shapes))) is told


def test_recompiling_for_shapes_names_the_rule_that_prevents_it():
    (sentence,) = findings(make_run(compilations=5, compiling_seconds=41.0, batch_shapes=5))
    assert sentence == (
        "The step was compiled 5 times (41 s in all) because batches come in 5 shapes: leave the rule "
        "static-shapes on, or pad every batch to one shape."
    )


def test_recompiling_with_one_shape_looks_for_another_cause_and_no_time_that_is_not_known():
    (sentence,) = findings(make_run(compilations=3))
    assert sentence.startswith("The step was compiled 3 times although all batches have one shape")


def test_a_model_that_was_moved_is_compiled_for_both_places_and_that_is_no_finding():
    assert findings(make_run(compilations=3, moved=True)) == []
    assert findings(make_run(compilations=4, moved=True)) and findings(make_run(compilations=3))


def test_the_gravest_finding_is_the_first():
    found = findings(make_run(**STARVED, nan_step=7, compilations=4, batch_shapes=4))
    assert [sentence.split(" (")[0][:16] for sentence in found] == [
        "The loss is not ", "The TPU waited 6", "The step was com",
    ]  # fmt: skip


def test_the_parts_of_a_step_add_up_to_it_as_they_are_written():
    for waiting in range(1, 300):
        whole, waited, computed = (float(text.replace(",", "")) for text in step_texts(waiting / 7, waiting / 3))
        assert waited + computed == pytest.approx(whole)


def test_a_step_that_was_not_timed_has_no_parts():
    assert step_milliseconds(make_run()) is None
    assert step_milliseconds(make_run(train_seconds=1.0, timed_steps=10)) == (0.0, 100.0)
