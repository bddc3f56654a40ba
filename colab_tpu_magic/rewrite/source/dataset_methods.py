"""``make_one_shot_iterator`` and ``tf.contrib.data``: a dataset is iterated, or trained on, as it is."""

from __future__ import annotations

import libcst as cst

from .base import Rewrite, first_argument


class OneShotIterators(Rewrite):
    """Hand over the dataset, or iterate over it."""

    id = "one-shot-iterator"
    title = "A dataset is iterated as it is"
    why = "Datasets are iterated directly since TensorFlow 2, and fit takes a dataset, not the tensors of one batch."
    source = "tensorflow.org/guide/data; tensorflow.org/guide/migrate"
    hints = ("make_one_shot_iterator",)

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self._returned: set[cst.CSTNode] = set()
        self._iterated: set[str] = set()
        self.module.visit(_GetNext(self._iterated))

    def visit_Return(self, node: cst.Return) -> None:
        """Remember what an input function returns: it returned the tensors of one batch."""
        if node.value is not None:
            self._returned.add(node.value)

    def leave_Assign(self, original: cst.Assign, updated: cst.Assign) -> cst.Assign:
        """Keep an iterator where its name is asked for more."""
        target = original.targets[0].target
        dataset = self._dataset(original.value)
        if dataset is None or not isinstance(target, cst.Name) or target.value not in self._iterated:
            return updated
        self.rewrites.pop()
        iterator = cst.Call(cst.Name("iter"), [cst.Arg(dataset)])
        return updated.with_changes(value=self.replace(original.value, iterator))

    def leave_Call(self, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        """Rewrite one call."""
        dataset = self._dataset(original)
        if dataset is not None:
            assert isinstance(updated.func, cst.Attribute | cst.Name)
            value = updated.func.value if isinstance(updated.func, cst.Attribute) and not updated.args else dataset
            return self.replace(original, value)
        func = original.func
        if isinstance(func, cst.Attribute) and func.attr.value == "get_next":
            inner = self._dataset(func.value)
            if inner is not None:
                self.rewrites.pop()
                if original in self._returned:
                    return self.replace(original, inner)
                call = cst.Call(cst.Name("iter"), [cst.Arg(inner)])
                return self.replace(original, cst.Call(cst.Name("next"), [cst.Arg(call)]))
        return updated

    def _dataset(self, node: cst.CSTNode) -> cst.BaseExpression | None:
        """Return the dataset that a call makes a one-shot iterator of."""
        if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
            return None
        if node.func.attr.value != "make_one_shot_iterator":
            return None
        if self.path(node.func) in (
            "tensorflow.compat.v1.data.make_one_shot_iterator",
            "tensorflow.data.make_one_shot_iterator",
        ):
            return first_argument(node, "dataset")
        return node.func.value


class _GetNext(cst.CSTVisitor):
    def __init__(self, names: set[str]) -> None:
        self.names = names

    def visit_Attribute(self, node: cst.Attribute) -> None:
        if node.attr.value == "get_next" and isinstance(node.value, cst.Name):
            self.names.add(node.value.value)

    def visit_Call(self, node: cst.Call) -> None:
        if isinstance(node.func, cst.Name) and node.func.value == "next" and node.args:
            if isinstance(node.args[0].value, cst.Name):
                self.names.add(node.args[0].value.value)


class DroppedRemainders(Rewrite):
    """``apply(tf.contrib.data.batch_and_drop_remainder(n))`` is ``batch(n, drop_remainder=True)``."""

    id = "contrib-data"
    title = "batch(n, drop_remainder=True)"
    why = "Dataset.batch drops the remainder itself since TensorFlow 1.10, and tf.contrib is gone."
    source = "tensorflow 1.10 release notes"
    hints = ("batch_and_drop_remainder",)

    def leave_Call(self, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        """Rewrite one call."""
        func = updated.func
        if not isinstance(func, cst.Attribute) or func.attr.value != "apply" or len(updated.args) != 1:
            return updated
        inner = updated.args[0].value
        if not isinstance(inner, cst.Call) or not self.path(inner.func).endswith("batch_and_drop_remainder"):
            return updated
        size = first_argument(inner, "batch_size")
        if size is None:
            return updated
        template = cst.parse_expression("f(n, drop_remainder=True)")
        assert isinstance(template, cst.Call)
        arguments = [template.args[0].with_changes(value=size), template.args[1]]
        new = updated.with_changes(func=func.with_changes(attr=cst.Name("batch")), args=arguments)
        return self.replace(original, new)
