"""Trap ``tensorflow-1``: TPUEstimator, contrib, sessions, placeholders and tf.train optimizers."""

from __future__ import annotations

import re

from ...rewrite.finding import Finding
from .base import CellText, CellTrap

ESTIMATOR = re.compile(r"\b(TPUEstimator|TPUEstimatorSpec|TPUConfig|tf\.(compat\.v1\.)?estimator\b)")
CONTRIB = re.compile(r"^tf\.contrib\b|\bkeras_to_tpu_model$|\bTPUDistributionStrategy$")
GRAPH = re.compile(
    r"^tf\.(compat\.v1\.)?(Session|InteractiveSession|placeholder|get_variable|global_variables_initializer|ConfigProto|"
    r"disable_eager_execution|disable_v2_behavior)$"
)
OPTIMIZER = re.compile(r"^tf\.(compat\.v1\.)?train\.\w+Optimizer$")
KINDS = (
    (
        ESTIMATOR,
        "TPUEstimator has no counterpart today: its model_fn becomes a Keras model, its input_fn a dataset.",
        "model = keras.Sequential([...]); model.compile(...); model.fit(dataset)",
    ),
    (CONTRIB, "tf.contrib is gone since TensorFlow 2.0; %%tpu_fit does what it did.", "%%tpu_migrate"),
    (
        GRAPH,
        "a TensorFlow 1 graph or session does not run on a TPU today.",
        "model.compile(...); model.fit(x, y) below %%tpu_fit",
    ),
    (OPTIMIZER, "tf.train optimizers are TensorFlow 1, and Keras 3 refuses them.", "%%tpu_migrate"),
)


class TensorFlow1(CellTrap):
    """Code for TensorFlow 1 describes a graph first and runs it in a session afterwards; that is gone.

    Models and optimizers can be carried over to Keras, ``%tpu_migrate`` writes the usual lines anew. A
    TPUEstimator, or a training loop of one's own over a session, cannot: what it computes has to be written as
    a Keras model.
    """

    id = "tensorflow-1"
    title = "Code for TensorFlow 1"
    source = "tensorflow.org/guide/migrate (2026); the 2018 article"

    def look(self, cell: CellText) -> list[Finding]:
        """Look for names that only TensorFlow 1 had; one finding for each kind of them."""
        names = [*cell.names(), *((node, name.replace("tensorflow", "tf", 1)) for node, name in cell.imports())]
        found = []
        for pattern, message, type_next in KINDS:
            for node, name in names:
                if pattern.search(name):
                    found.append(self.finding_at("error", node, f"{name}: {message}", type_next))
                    break
        return found
