"""What is chosen on a recorded machine."""

from __future__ import annotations

from itertools import count

import pytest

from colab_tpu_magic.backends.choice import choose
from colab_tpu_magic.errors import ConnectError
from colab_tpu_magic.options import ConnectOptions


@pytest.fixture
def chosen(tmp_path):
    """Return what is chosen on a machine with some options."""
    roots = (tmp_path / f"root{number}" for number in count())

    def choose_on(machine, **options):
        return choose(machine.detect(next(roots)), ConnectOptions(**options))

    return choose_on


@pytest.fixture
def refused(chosen):
    """Return the error that a machine with some options gives."""

    def refuse_on(machine, **options):
        with pytest.raises(ConnectError) as caught:
            chosen(machine, **options)
        return caught.value

    return refuse_on
