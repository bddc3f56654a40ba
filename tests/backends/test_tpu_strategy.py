"""What TensorFlow says when it finds no TPU, recorded; the strategy itself has not run on a TPU."""

from __future__ import annotations

from colab_tpu_magic.backends.tpu_strategy import explain_failure

# tensorflow 2.21, November 2026
PLAIN_WHEEL = RuntimeError(
    "No OpKernel was registered to support Op 'ConfigureDistributedTPU' used by {{node ConfigureDistributedTPU}}"
)
# tensorflow-tpu 2.20, November 2026
NO_TPU = ValueError(
    "TPUs not found in the cluster. Failed in initialization: No matching devices found for '/device:TPU_SYSTEM:0'"
)


def test_plain_wheel_is_told_from_a_missing_tpu():
    wheel, missing = explain_failure(PLAIN_WHEEL), explain_failure(NO_TPU)
    assert wheel.what.startswith("The installed tensorflow has no TPU support")
    assert wheel.type_next == "%tpu_connect --restart --backend jax"
    assert missing.what.startswith("TensorFlow found no TPU: TPUs not found in the cluster.")
    assert "%tpu_connect --simulate v2-8" in missing.type_next


def test_error_without_a_text_names_its_kind():
    assert explain_failure(ValueError()).what == "TensorFlow found no TPU: ValueError"
