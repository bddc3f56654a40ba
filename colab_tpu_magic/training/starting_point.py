"""Remember how a model was before its first run, and put it back there in place.

Private to Keras: ``_symbolic_build``, which every first `fit` calls. Tried on keras 3.10.0,
3.13.2 and 3.15.1.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

from ..backends.variables import forget_functions, live_variables


class StartingPoint:
    """The values of every variable of a training: weights, statistics, seeds, metrics, optimizer.

    A model or optimizer that is not built yet is built first, as its first fit would do, so that
    every variable is there to be remembered.

    Args:
        model: A compiled model.
        batch: ``(x, y)`` or ``(x, y, sample_weight)``, one row is enough.
    """

    def __init__(self, model: Any, batch: Any) -> None:
        self.model = model
        model._symbolic_build(data_batch=batch)
        self.optimizer = model.optimizer
        self._values = [
            (variable, np.array(keras.ops.convert_to_numpy(variable.value))) for variable in live_variables(model)
        ]

    def restore(self) -> None:
        """Give each variable its first value again, and the model its own optimizer."""
        self.model.optimizer = self.optimizer
        for variable, value in self._values:
            variable.assign(value)
        forget_functions(self.model)
