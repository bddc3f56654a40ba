"""What a plan answers and how it is told, on rows that are made here."""

from __future__ import annotations

import dataclasses

import pytest

from colab_tpu_magic.errors import OptionError
from colab_tpu_magic.planner.advice import batch_advice, compared
from colab_tpu_magic.planner.plan import ESTIMATE, Advice, Curve, CurvePoint, HostRate, Plan
from colab_tpu_magic.planner.row import LayerShare, MemoryParts, Row, best_of
from colab_tpu_magic.planner.told import gain_text, host_text, range_text, rounded, seconds_text, verdict
from colab_tpu_magic.planner.wanted import wanted_of

from .plans import GIB, full_row, row

BFLOAT16 = Advice("bfloat16: about 1.3×.", 1.3, 1000.0, 1300.0, "--precision bfloat16")
BATCH = Advice("A batch of 1,024 instead of 128: about 2×.", 2.0, 500.0, 1000.0, "--batch-size 1024")


def plan_of(*rows: Row, **values: object) -> Plan:
    return Plan(model_name="net", rows=rows, **values)  # type: ignore[arg-type]


def test_the_parts_of_the_memory_add_up_to_what_is_needed() -> None:
    parts = MemoryParts(1, 2, 3, 4, 5, 6)
    assert parts.needed == 21
    assert dict(parts.parts()) == {
        "parameters": 1,
        "optimizer": 2,
        "state": 3,
        "batch": 4,
        "activations": 5,
        "code": 6,
    }


def test_the_best_row_is_the_fastest_or_a_smaller_one_that_is_nearly_as_fast() -> None:
    assert best_of([row(128, 500.0), row(512, 990.0), row(2048, 1000.0), full_row(8192)]) == row(512, 990.0)
    assert best_of([row(128, 500.0), row(2048, 1000.0)]) == row(2048, 1000.0)
    assert best_of([full_row(64), row(32, 0.0)]) is None


def test_the_best_row_leaves_enough_steps_in_an_epoch() -> None:
    rows = [row(128, 500.0), row(512, 800.0), row(2048, 1000.0)]
    assert best_of(rows, 600) == row(512, 800.0)
    assert best_of(rows, 64) == row(128, 500.0)
    assert plan_of(*rows, most_rows=600).best() == row(512, 800.0)


def test_another_precision_than_the_models_own_has_to_be_faster() -> None:
    rows = [row(128, 990.0), row(128, 1000.0, precision="bfloat16")]
    assert best_of(rows) == rows[0]
    rows = [row(128, 900.0), row(128, 1000.0, precision="bfloat16")]
    assert best_of(rows) == rows[1]


def test_what_was_only_tried_for_the_memory_is_not_the_best() -> None:
    rows = [row(128, 500.0), row(4000, 1000.0, probe=True)]
    assert best_of(rows) == rows[0]
    assert best_of(rows[1:]) == rows[1]


def test_a_row_is_found_by_what_it_is_for() -> None:
    other = row(512, precision="bfloat16")
    plan = plan_of(row(128), row(512), other, row(64, target="v2-8"))
    assert plan.row(batch_size=512, precision="bfloat16") is other
    assert plan.row(target="v2-8").batch_size == 64 and plan.row().batch_size == 128
    assert plan.targets == ("v5e-1", "v2-8")
    assert plan.best("v2-8") == plan.row(target="v2-8") and plan.best("v3-8") is None
    with pytest.raises(OptionError, match=r"v5e-1 128 own precision, .*v2-8 64"):
        plan.row(batch_size=77)


def test_the_verdict_says_all_of_it_in_a_sentence() -> None:
    best = row(1024, 41_000.0, examples_per_second=(41_000.0, 41_200.0))
    curve = Curve("v5e-1", "", (CurvePoint(1024, 41_000.0, True),), 3072, 3136)
    assert verdict([best], [curve], best, [BATCH, BFLOAT16]) == (
        "Fits v5e-1 up to batch 3,072; best 1,024: about 41,000 examples/s; 71% of the time in block4; "
        "bfloat16 would be 1.3× faster."
    )
    whole = dataclasses.replace(curve, largest_batch=60_000, first_refused=None)
    assert verdict([best], [whole], best, []).startswith("Fits v5e-1 with all rows in one batch of 60,000; best 1,024")
    unknown = dataclasses.replace(curve, largest_batch=None)
    assert verdict([best], [unknown], best, []).startswith("Fits v5e-1 at batch 1,024; best")


def test_the_verdict_tells_the_best_of_every_other_target_beside_it() -> None:
    best = row(1024, 41_000.0, layers=())
    others = [
        row(64, 800.0, target="v2-8"),
        row(1024, 70_000.0, target="v6e-1", examples_per_second=(70_000.0, 70_400.0)),
        row(4096, 90_000.0, target="v6e-1", probe=True),
        dataclasses.replace(full_row(64), target="v3-8"),
        Row("v4-8", 64, "", "refused", "Not compiled within 5 s."),
        row(64, 1.0, target="v5p-8", examples_per_second=(0.0, 0.0), step_seconds=(0.0, 0.0)),
    ]
    assert verdict([best, *others], [], best, []) == (
        "Fits v5e-1 at batch 1,024; best 1,024: about 41,000 to 51,000 examples/s. Beside it: v2-8 about 800 to 1,000 "
        "examples/s at 64; v6e-1 about 70,000 examples/s at 1,024; v3-8 does not fit; v4-8 could not be planned; "
        "v5p-8 fits, without an estimate."
    )


def test_the_verdict_of_what_does_not_fit_says_by_how_much() -> None:
    rows = [full_row(512, 40 * GIB), full_row(128, 20 * GIB)]
    assert verdict(rows, [], None, []) == (
        "Does not fit v5e-1, not even at batch 128: 20.00 GiB needed, 16.00 GiB there."
    )
    refused = Row("v5e-1", 128, "", "refused", "Not compiled within 5 s.")
    assert verdict([refused], [], None, []) == "Could not be planned: Not compiled within 5 s."
    assert verdict([], [], None, []) == "Nothing was compiled."


def test_no_layer_is_named_where_the_time_is_spread_and_no_rate_where_there_is_none() -> None:
    even = row(64, layers=tuple(LayerShare(name, 0.1, 0.1) for name in "abcde"))
    assert "of the time" not in verdict([even], [], even, [])
    unread = row(64, 1.0, examples_per_second=(0.0, 0.0), step_seconds=(0.0, 0.0), layers=())
    assert verdict([unread], [], unread, []) == "Fits v5e-1 at batch 64."


def test_the_verdict_names_what_takes_most_of_the_time_be_it_no_layer() -> None:
    busy = row(64, optimizer_share=0.1, loss_share=0.8, layers=(LayerShare("dense", 0.1, 0.3),))
    assert "80% of the time in loss and metrics" in verdict([busy], [], busy, [])
    update = row(64, optimizer_share=0.5, layers=(LayerShare("dense", 0.1, 0.3),))
    assert "50% of the time in the optimizer" in verdict([update], [], update, [])


def test_the_table_has_every_row_every_reason_and_what_the_figures_are() -> None:
    host = HostRate(900.0, "3 batches", enough=False)
    plan = plan_of(row(512), full_row(8192), verdict="It fits.", advice=(BFLOAT16,), host=host, problems=("Cut.",))
    lines = plan.table().splitlines()
    assert lines[0] == "It fits." and lines[2].split()[:4] == ["target", "batch", "precision", "fits"]
    assert lines[3].split()[:4] == ["v5e-1", "512", "as", "is"] and "block4 71%" in lines[3]
    assert "out-of-memory" in lines[4] and "20.00 GiB" in lines[4]
    assert lines[-1] == ESTIMATE and lines[-2] == "Cut." and BFLOAT16.text in lines
    assert host_text(host) in lines and "it would wait for data" in host_text(host)


def test_a_frame_has_one_column_for_each_figure() -> None:
    frame = plan_of(row(512), full_row(8192)).to_dataframe()
    assert list(frame["status"]) == ["fits", "out-of-memory"]
    assert list(frame["parameters_bytes"])[0] == 100 and frame["parameters_bytes"].isna()[1]
    assert frame["examples_per_second_low"][0] == 1000.0 and frame["top_layer"][0] == "block4"


def test_every_figure_is_explained_with_its_sources() -> None:
    model = "all-reduce: 2·(n−1)/n × payload"
    plan = plan_of(
        row(512, target="v2-8", collective_model=model, unestimated=("2 all-reduce (1 B)",), notes=("Once.",)),
        compiler="jax 0.10.2, libtpu 0.0.42.1",
    )
    text = plan.explain()
    assert text.startswith(f"{ESTIMATE} Compiler: jax 0.10.2, libtpu 0.0.42.1.")
    for told in (
        "Memory:",
        "FLOPs:",
        "HBM traffic:",
        "At memory's whole rate:",
        f"v2-8, {model}",
        "2 all-reduce (1 B)",
        "Once.",
        "CACM",
    ):
        assert told in text


def test_a_gain_is_the_smaller_of_both_ends_and_a_small_one_is_not_told() -> None:
    before = row(512, 1000.0)
    after = row(512, 1300.0, examples_per_second=(1300.0, 1500.0))
    found = compared("bfloat16", before, after, "--precision bfloat16")
    assert found is not None and found.gain == pytest.approx(1.2) and (found.before, found.after) == (1000.0, 1300.0)
    assert found.text == "bfloat16: about 1.2× the examples per second."
    assert compared("bfloat16", before, row(512, 1020.0), "") is None
    assert compared("bfloat16", before, row(512, 0.0), "") is None
    batch = batch_advice(row(128, 500.0), row(1024, 1000.0))
    assert batch is not None and batch.typed == "--batch-size 1024" and "1,024 instead of 128" in batch.text


def test_what_is_asked_is_read_in_every_form() -> None:
    wanted = wanted_of("v2-8, V5E-1", [512, 128, 512], "float32,bfloat16")
    assert [one.name for one in wanted.targets] == ["v2-8", "v5e-1"]
    assert wanted.batch_sizes == (128, 512) and wanted.precisions == ("float32", "bfloat16")
    single = wanted_of(["v6e-1"], 64, None)
    assert (
        [one.name for one in single.targets] == ["v6e-1"] and single.batch_sizes == (64,) and single.precisions == ("",)
    )
    assert wanted_of("v2-8", None, None).batch_sizes is None


@pytest.mark.parametrize("sizes", [[0], [-8], [True], [], ["128"], [12.5]])
def test_sizes_that_are_none_are_refused(sizes: list[object]) -> None:
    with pytest.raises(OptionError, match=r"(?s)cannot be planned.*--batch-sizes 128,512,2048"):
        wanted_of("v2-8", sizes, None)  # type: ignore[arg-type]


def test_numbers_are_told_with_two_figures() -> None:
    assert [rounded(number) for number in (0.8333, 4.0, 41_234.0, 99.6, 1_234_567.0)] == [
        "0.83",
        "4",
        "41,000",
        "100",
        "1,200,000",
    ]
    assert range_text((29_312.0, 41_020.0)) == "29,000 to 41,000" and range_text((812.0, 814.0)) == "810"
    assert [seconds_text(one) for one in (2.5, 0.00123, 4.2e-6)] == ["2.5 s", "1.2 ms", "4.2 µs"]


def test_a_small_gain_does_not_read_as_none() -> None:
    assert [gain_text(gain) for gain in (1.03, 1.1, 1.999, 2.04, 9.4, 42.4)] == [
        "1.03×",
        "1.1×",
        "2×",
        "2×",
        "9.4×",
        "42×",
    ]
