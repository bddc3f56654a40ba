"""What validates in an exported script where plain Keras cannot, as text."""

from __future__ import annotations

_VALIDATION = '''class ValidateEveryRow(keras.callbacks.Callback):
    """Validate after each epoch with every row counted once.

    {told}
    """

    def __init__(self, data, validation_freq=1, **arguments):
        super().__init__()
        self.data = data
        self.validation_freq = validation_freq
        self.arguments = arguments

    def on_epoch_end(self, epoch, logs=None):
        every = self.validation_freq
        if (epoch + 1) % every if isinstance(every, int) else epoch + 1 not in every:
            return
        data = self.data() if callable(self.data) else self.data
        if hasattr(data, "__next__"):  # a generator: it goes on where the last validation ended
            batches = itertools.islice(data, self.arguments.get("steps"))
            data = (tuple(batch) if isinstance(batch, (list, tuple)) else (batch,) for batch in batches)
{evaluate}
        logs.update({f"val_{name}": figure for name, figure in figures.items()})'''

_ALONE = """        x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        figures = self.model.evaluate(
            x, y, sample_weight=sample_weight, verbose=0, return_dict=True, **self.arguments
        )"""

_UNDISTRIBUTED = """        x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        keras.distribution.set_distribution(None)
        figures = self.model.evaluate(
            x, y, sample_weight=sample_weight, verbose=0, return_dict=True, **self.arguments
        )
        keras.distribution.set_distribution(data_parallel)"""

_JOINED = """        arguments = dict(self.arguments)
        batches = in_order(data) if isinstance(data, keras.utils.PyDataset) else data
        batches = itertools.islice(batches, arguments.pop("steps", None))
        batches = [batch if isinstance(batch, (list, tuple)) else (batch,) for batch in batches]
        data = keras.tree.map_structure(lambda *parts: np.concatenate(parts), *map(tuple, batches))
        x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        replicas, rows = strategy.num_replicas_in_sync, len(keras.tree.flatten(x)[0])
        size = min(arguments.pop("batch_size"), max(1, rows - rows % replicas))
        figures = self.model.evaluate(
            x, y, sample_weight=sample_weight, batch_size=size, verbose=0, return_dict=True, **arguments
        )"""

# What a validation does: (text that tells why, code), by what plain Keras cannot.
_WAYS = {
    "jax": (
        """Plain Keras on JAX can only share out batches that divide over the devices. Without a
    distribution each device computes the whole batch, and it may have any number of rows.""",
        _UNDISTRIBUTED,
    ),
    "tensorflow": (
        """Plain Keras on several TensorFlow replicas looks into the data, which a generator cannot give
    again, and wants a first batch that they can share: the batches of a validation are joined.""",
        _JOINED,
    ),
    "": ("""Keras begins a validation anew after each epoch; a generator goes on.""", _ALONE),
}


def validation_helper(backend: str, replicas: int) -> str:
    """Return the text of the callback that validates.

    Args:
        backend: ``"jax"`` or ``"tensorflow"``.
        replicas: Devices that share a batch.

    Example:
        >>> "set_distribution" in validation_helper("jax", 8), "set_distribution" in validation_helper("jax", 1)
        (True, False)
    """
    told, evaluate = _WAYS[backend if replicas > 1 else ""]
    return _VALIDATION.replace("{told}", told).replace("{evaluate}", evaluate)
