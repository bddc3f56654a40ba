"""Take the seed of a shuffle from NumPy's global generator, and leave what that draws next as it was."""

from __future__ import annotations

from typing import Any

import numpy as np

# Mersenne Twister's period is 2**19937 - 1 and its state 624 words of 32 bits: 31 bits are never read.
UNREAD = np.uint32(2**31 - 1)


def shuffle_seed() -> int:
    """Return a seed below 2**31 that NumPy's state decides.

    No number is drawn, so NumPy gives the notebook what it would have given without the fit, and an exported
    script need not repeat a draw. How many seeds were taken is counted in bits of the state that no draw reads
    and every seeding sets: fits in a row shuffle differently, and the same after the same seed.

    Example:
        >>> np.random.seed(0)
        >>> one, other, drawn = shuffle_seed(), shuffle_seed(), np.random.rand()
        >>> np.random.seed(0)
        >>> (one == shuffle_seed(), one == other, drawn == np.random.rand())
        (True, False, True)
    """
    state: Any = np.random.get_state()
    if not isinstance(state, tuple) or state[0] != "MT19937" or not state[2]:  # at place 0 the first word is next
        return int(np.random.randint(2**31))
    name, words, place, *normal = state
    copy = np.random.RandomState()
    copy.set_state(state)
    taken = words[0] & UNREAD
    made = np.random.SeedSequence([*copy.randint(2**31, size=4), int(taken)]).generate_state(1)[0]
    words = words.copy()
    words[0] = (words[0] & ~UNREAD) | ((taken + np.uint32(1)) & UNREAD)
    np.random.set_state((name, words, place, *normal))
    return int(made & UNREAD)
