"""Names that TensorFlow and Keras moved: one table each of where they are today."""

from __future__ import annotations

import re
from typing import Any

import libcst as cst

from .base import Rewrite
from .context import Context
from .names import dotted, keras_path, node_of

_FILES = {
    "Exists": "exists",
    "Glob": "glob",
    "IsDirectory": "isdir",
    "ListDirectory": "listdir",
    "MakeDirs": "makedirs",
    "MkDir": "mkdir",
    "Remove": "remove",
    "DeleteRecursively": "rmtree",
    "Copy": "copy",
    "Rename": "rename",
    "Stat": "stat",
    "Walk": "walk",
    "Open": "GFile",
    "FastGFile": "GFile",
    "GFile": "GFile",
}
TENSORFLOW = {
    "logging": "compat.v1.logging",
    **{f"gfile.{old}": f"io.gfile.{new}" for old, new in _FILES.items()},
    "gfile": "io.gfile",
    "log": "math.log",
    "random_normal": "random.normal",
    "random_uniform": "random.uniform",
    "truncated_normal": "random.truncated_normal",
    "set_random_seed": "keras.utils.set_random_seed",
    "random.set_random_seed": "keras.utils.set_random_seed",
    "read_file": "io.read_file",
    "decode_raw": "io.decode_raw",
    "parse_single_example": "io.parse_single_example",
    "parse_example": "io.parse_example",
    "FixedLenFeature": "io.FixedLenFeature",
    "VarLenFeature": "io.VarLenFeature",
    "python_io.TFRecordWriter": "io.TFRecordWriter",
    "image.resize_images": "image.resize",
    "sparse_tensor_to_dense": "sparse.to_dense",
    "contrib.keras": "keras",
    "contrib.data": "data.experimental",
    "contrib.distribute.MirroredStrategy": "distribute.MirroredStrategy",
    "contrib.layers.l2_regularizer": "keras.regularizers.l2",
    "contrib.layers.xavier_initializer": "keras.initializers.GlorotUniform",
    "glorot_uniform_initializer": "keras.initializers.GlorotUniform",
    "keras.layers.experimental.preprocessing": "keras.layers",
    "keras.layers.CuDNNLSTM": "keras.layers.LSTM",
    "keras.layers.CuDNNGRU": "keras.layers.GRU",
    "keras.utils.np_utils": "keras.utils",
    "keras.experimental.CosineDecay": "keras.optimizers.schedules.CosineDecay",
    "python.keras": "keras",
    **{
        f"layers.{name}": f"keras.layers.{name}"
        for name in ("Dense", "Conv1D", "Conv2D", "Conv3D", "Dropout", "Flatten", "BatchNormalization", "MaxPooling2D")
    },
}
_LAYERS = (
    "normalization",
    "convolutional",
    "core",
    "pooling",
    "recurrent",
    "embeddings",
    "merge",
    "advanced_activations",
    "wrappers",
    "noise",
    "local",
    "experimental.preprocessing",
    "convolutional_recurrent",
    "cudnn_recurrent",
)
MODULES = {
    **{f"keras.layers.{name}": "keras.layers" for name in _LAYERS},
    "keras.utils.np_utils": "keras.utils",
    "keras.utils.vis_utils": "keras.utils",
    "keras.utils.data_utils": "keras.utils",
    "keras.utils.generic_utils": "keras.utils",
    "keras.engine": "keras.layers",
    "keras.engine.topology": "keras.layers",
    "keras.engine.base_layer": "keras.layers",
    "keras.engine.training": "keras",
    "keras.preprocessing.text": "tensorflow.keras.preprocessing.text",
}
_ANY = re.compile(
    rf"\b(?:tf|tensorflow)\.(?:compat\.v1\.)?(?:{'|'.join(re.escape(name) for name in TENSORFLOW)})\b"
    rf"|\bkeras\.(?:{'|'.join(re.escape(name.removeprefix('keras.')) for name in MODULES)})\b"
    r"|\bkeras\.preprocessing\.image\b|np_utils|CuDNN|tensorflow\.(?:contrib|python)\b|\bkeras\.layers\.experimental"
)
_SEED_WHY = (
    "keras.utils.set_random_seed seeds the backend that trains, NumPy and Python; "
    "tf.set_random_seed is gone, and TensorFlow's seed alone would not reach Keras on JAX."
)


class MovedNames(Rewrite):
    """Write names as they are called today."""

    id = "moved-names"
    title = "Names of today"
    why = "The name was moved in TensorFlow 2 or Keras 3; what it stands for is the same."
    source = "tensorflow.org/guide/migrate; keras.io/guides/migrating_to_keras_3"
    hints = ()

    @classmethod
    def suspects(cls, text: str, context: Context) -> bool:
        """Return whether one of the names may be in a text."""
        return _ANY.search(text) is not None

    def leave_Attribute(self, original: cst.Attribute, updated: cst.Attribute) -> cst.BaseExpression:
        """Rewrite one dotted name."""
        path, written = self.path(original), dotted(original)
        if not path.startswith("tensorflow.") or not written:
            return self._keras_attribute(original, updated, path)
        short = path.removeprefix("tensorflow.").removeprefix("compat.v1.")
        new = TENSORFLOW.get(short, "")
        root = written.partition(".")[0]
        if not new or self.names.get(root) != "tensorflow":
            return updated
        if path.startswith("tensorflow.compat.v1.") and short == "logging":
            return updated
        return self.replace(original, node_of(f"{root}.{new}"), _SEED_WHY if "seed" in short else "")

    def leave_ImportFrom(self, original: cst.ImportFrom, updated: cst.ImportFrom) -> Any:
        """Rewrite the module, or the name, of one ``from … import``."""
        if (
            original.module is None
            or isinstance(original.names, cst.ImportStar)
            or isinstance(updated.names, cst.ImportStar)
        ):
            return updated
        module = dotted(original.module)
        new_module = _module_of(module, [alias.evaluated_name for alias in original.names])
        names = [_alias(module, alias) for alias in updated.names]
        apart = [new for new, old in zip(names, original.names) if _is_np_utils(module, old)]
        if apart:
            return self._utils(original, updated, new_module, apart)
        if new_module == module and all(new is old for new, old in zip(names, updated.names)):
            return updated
        new: cst.BaseSmallStatement = self.replace(
            original, updated.with_changes(module=node_of(new_module), names=names)
        )
        return new

    def _utils(
        self, original: cst.ImportFrom, updated: cst.ImportFrom, module: str, apart: list[cst.ImportAlias]
    ) -> Any:
        """Return ``from keras import utils as np_utils``, and the other names of the import behind it."""
        comma = cst.MaybeSentinel.DEFAULT
        first = updated.with_changes(
            module=node_of(module.removesuffix(".utils")), names=[apart[0].with_changes(comma=comma)]
        )
        assert not isinstance(updated.names, cst.ImportStar)
        others = [alias for alias in updated.names if not _is_np_utils(module, alias)]
        if not others:
            return self.replace(original, first)
        others[-1] = others[-1].with_changes(comma=comma)
        second = updated.with_changes(names=others)
        self._record(original, self.code(original), f"{self.code(first)}; {self.code(second)}", "")
        return cst.FlattenSentinel([first.with_changes(semicolon=comma), second])

    def leave_Import(self, original: cst.Import, updated: cst.Import) -> cst.BaseSmallStatement:
        """Rewrite ``import tensorflow.contrib.keras as keras`` and ``import tensorflow.python.keras as k``."""
        names = list(updated.names)
        for index, alias in enumerate(original.names):
            path = dotted(alias.name)
            for prefix in ("tensorflow.contrib.keras.api.keras", "tensorflow.contrib.keras", "tensorflow.python.keras"):
                if alias.asname is not None and (path == prefix or path.startswith(prefix + ".")):
                    new_path = "tensorflow.keras" + path.removeprefix(prefix)
                    names[index] = names[index].with_changes(name=node_of(new_path))
                    break
        if all(new is old for new, old in zip(names, updated.names)):
            return updated
        new: cst.BaseSmallStatement = self.replace(original, updated.with_changes(names=names))
        return new

    def _keras_attribute(self, original: cst.Attribute, updated: cst.Attribute, path: str) -> cst.BaseExpression:
        """Rewrite ``keras.layers.normalization.BatchNormalization``."""
        short = keras_path(path)
        new = MODULES.get(short, "")
        written = dotted(original)
        if not new or not short or not written.endswith(short.partition(".")[2]) or new.startswith("tensorflow"):
            return updated
        root = written.removesuffix(short.partition(".")[2]).rstrip(".")
        return self.replace(original, node_of(f"{root}.{new.partition('.')[2]}".rstrip(".")))


def _module_of(module: str, names: list[str]) -> str:
    for prefix in ("tensorflow.contrib.keras.api.keras", "tensorflow.contrib.keras", "tensorflow.python.keras"):
        if module == prefix or module.startswith(prefix + "."):
            module = "tensorflow.keras" + module.removeprefix(prefix)
    short = keras_path(module)
    if short in MODULES:
        new = MODULES[short]
        return module.removesuffix(short) + new if not new.startswith("tensorflow") else new
    if short == "keras.preprocessing.image" and module.startswith("keras.") and "ImageDataGenerator" in names:
        return f"tensorflow.{module}"
    return module


def _is_np_utils(module: str, alias: cst.ImportAlias) -> bool:
    return keras_path(f"{module}.{alias.evaluated_name}") == "keras.utils.np_utils"


def _alias(module: str, alias: cst.ImportAlias) -> cst.ImportAlias:
    name = alias.evaluated_name
    if _is_np_utils(module, alias):
        asname = alias.asname or cst.AsName(cst.Name(name))
        return alias.with_changes(name=cst.Name("utils"), asname=asname)
    if name in ("CuDNNLSTM", "CuDNNGRU"):
        asname = alias.asname or cst.AsName(cst.Name(name))
        return alias.with_changes(name=cst.Name(name.removeprefix("CuDNN")), asname=asname)
    return alias
