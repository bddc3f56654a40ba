"""What has no form of today: estimators, graphs and sessions, contrib. Each is named with what to do instead."""

from __future__ import annotations

import re

import libcst as cst

from .base import Rewrite
from .names import dotted, keras_path

_ESTIMATOR = (
    "Estimators were taken out of TensorFlow in 2.16, and their model_fn builds a TensorFlow 1 graph.",
    "Build the layers of the model_fn as a keras.Model, compile it, and train it with model.fit in %%tpu_fit.",
)
_GRAPH = (
    "TensorFlow 1 graphs and sessions cannot train on a TPU of today.",
    "Build the model from keras.layers, compile it, and train it with model.fit in %%tpu_fit.",
)
_CONTRIB = (
    "tf.contrib was taken out in TensorFlow 2.0, and this part of it has no successor in Keras.",
    "Use keras.layers, keras.optimizers and model.fit in its place.",
)
_LOOP = (
    "This is a training loop of TensorFlow 1.",
    "Compile the keras.Model and train it with model.fit in %%tpu_fit; what the loop did goes into callbacks.",
)
_ITERATOR = (
    "The iterator is initialised in a TensorFlow 1 session.",
    "Hand the dataset itself to model.fit.",
)
_SAVER = (
    "Checkpoints of TensorFlow 1 are saved in a session.",
    "Use model.save('model.keras') or model.save_weights('model.weights.h5').",
)
_OPTIMIZER = (
    "This optimizer has no counterpart in Keras 3.",
    'Use another one: model.compile(optimizer="adam", ...).',
)
# Functions of tf.losses that TensorFlow 2 has not; the classes there are Keras'.
_LOSSES = (
    "softmax_cross_entropy",
    "sparse_softmax_cross_entropy",
    "sigmoid_cross_entropy",
    "get_total_loss",
    "get_regularization_losses",
    "add_loss",
    "log_loss",
)
# The beginnings of dotted paths below tensorflow (or tensorflow.compat.v1), the most particular first.
REFUSED: tuple[tuple[str, tuple[str, str]], ...] = (
    ("contrib.tpu.TPUEstimator", _ESTIMATOR),
    ("contrib.tpu.TPUConfig", _ESTIMATOR),
    ("contrib.tpu.RunConfig", _ESTIMATOR),
    ("contrib.estimator", _ESTIMATOR),
    ("contrib.learn", _ESTIMATOR),
    ("estimator", _ESTIMATOR),
    ("contrib.training", _LOOP),
    ("contrib.slim", _LOOP),
    ("contrib.tpu.training_loop", _LOOP),
    ("contrib.tpu.repeat", _LOOP),
    ("contrib", _CONTRIB),
    ("Session", _GRAPH),
    ("InteractiveSession", _GRAPH),
    ("placeholder", _GRAPH),
    ("placeholder_with_default", _GRAPH),
    ("global_variables_initializer", _GRAPH),
    ("initialize_all_variables", _GRAPH),
    ("get_default_session", _GRAPH),
    ("get_variable", _GRAPH),
    ("variable_scope", _GRAPH),
    ("get_default_graph", _GRAPH),
    ("layers", _GRAPH),
    *((f"losses.{name}", _GRAPH) for name in _LOSSES),
    ("app.run", _GRAPH),
    ("train.Saver", _SAVER),
    ("train.MonitoredTrainingSession", _LOOP),
    ("train.MonitoredSession", _LOOP),
    ("train.SessionRunHook", _LOOP),
    ("train.ProximalAdagradOptimizer", _OPTIMIZER),
    ("train.ProximalGradientDescentOptimizer", _OPTIMIZER),
    ("train.AdagradDAOptimizer", _OPTIMIZER),
    ("train.SyncReplicasOptimizer", _OPTIMIZER),
)
_EVERYWHERE = {
    "make_initializable_iterator": _ITERATOR,
    "_get_available_gpus": _GRAPH,
}
_BACKEND = (
    "keras.backend keeps settings only in Keras 3, and this has no counterpart of the same arguments.",
    "Write it with keras.ops.",
)
_GONE = (
    "function gradients batch_dot dot update update_add update_sub variable placeholder switch rnn map_fn foldl foldr"
)
_KERAS = {"backend.get_session": _GRAPH, "backend.learning_phase": _GRAPH, "backend.tensorflow_backend": _GRAPH}
# Keras' own package only: tf.keras.backend has these still, and they work where TensorFlow trains.
_BACKEND_CALLS = tuple(f"keras.backend.{name}" for name in _GONE.split())
_MERGE = (
    "The function merge and the layer Merge went with Keras 1.",
    "Use what their mode said: keras.layers.concatenate([a, b]), add, subtract, multiply, average, maximum or dot.",
)
_KERAS_MODULES = {
    "keras.wrappers": ("Keras 3 has no wrappers for scikit-learn of this name.", "Use scikeras, or model.fit.")
}
_ANY = re.compile(
    r"contrib\b|\bestimator\b|Estimator|Session\b|placeholder|_initializer\(|initialize_all_variables|get_variable|variable_scope"
    r"|get_default_|\btf\.(?:compat\.v1\.)?(?:layers|losses|app)\b|Saver\b|RunHook|Optimizer|make_initializable_iterator"
    r"|get_session|learning_phase|tensorflow_backend|keras\.wrappers|_get_available_gpus"
    rf"|\bimport\b[^\n]*\b[mM]erge\b|\b(?:K|backend)\.(?:{'|'.join(_GONE.split())})\b"
)


class RefusedNames(Rewrite):
    """Name what cannot be carried over; runs last, so that it sees only what no rewrite has taken away."""

    id = "refused"
    title = "No form of today"
    why = ""
    source = ""
    hints = ()

    @classmethod
    def suspects(cls, text: str, context: object) -> bool:
        """Return whether one of the names may be in a text."""
        return _ANY.search(text) is not None

    def visit_Attribute(self, node: cst.Attribute) -> bool:
        """Look at one dotted name; the longest one only."""
        name = node.attr.value
        if name in _EVERYWHERE:
            self._say(node, name, _EVERYWHERE[name])
            return True
        keras = self.keras(node)
        for prefix, said in _KERAS.items():
            if keras == prefix or keras.startswith(prefix + "."):
                self._say(node, dotted(node), said)
                return False
        path = self.path(node)
        if path in _BACKEND_CALLS:
            self._say(node, dotted(node), _BACKEND)
            return False
        said_of = self._of(path)
        if said_of is not None:
            self._say(node, dotted(node), said_of)
            return False
        return not dotted(node)

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        """Look at ``from tensorflow.contrib import slim``."""
        module = dotted(node.module) if node.module is not None else ""
        for prefix, said in _KERAS_MODULES.items():
            if module.startswith(prefix):
                self._say(node, self.code(node), said)
        if keras_path(f"{module}.") == "keras.layers." and not isinstance(node.names, cst.ImportStar):
            for alias in node.names:
                if alias.evaluated_name in ("merge", "Merge"):
                    self._say(node, self.code(node), _MERGE)
        if module.startswith("tensorflow") and not isinstance(node.names, cst.ImportStar):
            for alias in node.names:
                of = self._of(f"{module}.{alias.evaluated_name}")
                if of is not None:
                    self._say(node, self.code(node), of)
        return False

    def visit_Import(self, node: cst.Import) -> bool:
        """Look at ``import tensorflow.contrib.slim as slim``."""
        for alias in node.names:
            said = self._of(dotted(alias.name))
            if said is not None:
                self._say(node, self.code(node), said)
        return False

    def _of(self, path: str) -> tuple[str, str] | None:
        if not path.startswith("tensorflow."):
            return None
        short = path.removeprefix("tensorflow.")
        if short.startswith("python.estimator"):
            return _ESTIMATOR
        old = short.removeprefix("compat.v1.")
        for prefix, said in REFUSED:
            if old == prefix or old.startswith(prefix + "."):
                return said
        return None

    def _say(self, node: cst.CSTNode, name: str, said: tuple[str, str]) -> None:
        self.refuse(node, name, *said)
