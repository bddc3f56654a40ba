"""What hands batches to Keras in an exported script, as text: endless ones, datasets, and what each is read with."""

from __future__ import annotations

_ENDLESS = '''class Endless(keras.utils.PyDataset):
    """Hand the batches of a generator function to Keras; an epoch goes on where the last one ended."""

    def __init__(self, batches):
        super().__init__()
        self.open, self.seen = batches(), []

    @property
    def num_batches(self):
        return None

    def __getitem__(self, index):
        # Keras looks at the first batches before it trains, and asks for them again: none is made twice.
        if index < len(self.seen):
            return self.seen[index]
        batch = next(self.open)
        if index < 100:
            self.seen.append(batch)
        else:
            self.seen.clear()
        return batch'''

_FOR_TF_DATA = '''def for_tf_data(batches, most=None):
    """Return a generator function for tf.data, which gives at most so many batches.

    Keras looks at the first batches before it trains, and then begins anew: it gets them again, so that none
    is made twice. Lists become tuples: to tf.data a list is one tensor.
    """
    begun, seen, lock = [], [], threading.Lock()

    def tuples(part):
        if isinstance(part, (list, tuple)):
            return tuple(map(tuples, part))
        return {name: tuples(one) for name, one in part.items()} if isinstance(part, dict) else part

    def batch_at(place):
        with lock:
            if place < len(seen):
                return seen[place]
            if not begun:
                begun.append(itertools.islice(batches(), most))
            batch = tuples(next(begun[0], None))
            if batch is not None and place < 100:
                seen.append(batch)
            elif batch is not None or most is None:
                seen.clear()
            if batch is None and most is None:  # the next pass is a new one
                begun.clear()
            return batch

    def again():
        place = 0
        while (batch := batch_at(place)) is not None:
            yield batch
            place += 1

    return again'''

_DATASET = '''def as_dataset(batches, batch_size, most=None):
    """Return a tf.data.Dataset over the batches of a generator function, with a static shape."""
    batches = for_tf_data(batches, most)

    def spec(array):
        return tf.TensorSpec((batch_size, *array.shape[1:]), array.dtype)

    signature = keras.tree.map_structure(spec, next(batches()))
    return tf.data.Dataset.from_generator(batches, output_signature=signature).prefetch(2)'''

_SHUFFLED = '''def shuffled(sequence):
    """Return the batches of a PyDataset in a new order, as Keras does before each epoch."""
    order = np.random.default_rng(np.random.randint(2**31)).permutation(len(sequence))
    sequence.on_epoch_begin()
    for index in order:
        yield keras.tree.map_structure(np.array, sequence[int(index)])  # the sequence may shuffle its own arrays
    sequence.on_epoch_end()'''

_IN_ORDER = '''def in_order(sequence):
    """Return the batches of a PyDataset in their order, once."""
    batches = sequence.num_batches
    sequence.on_epoch_begin()
    for index in itertools.count() if batches is None else range(batches):
        yield keras.tree.map_structure(np.array, sequence[index])  # the sequence may shuffle its own arrays
    sequence.on_epoch_end()'''

_REPLAYED = '''def replayed(generator):
    """Return a function that reads a generator; its first batches come again when it is called again.

    Keras looks at the first batches before it trains.
    """
    seen = []

    def read():
        yield from list(seen)
        for batch in generator:
            if len(seen) < 100:
                seen.append(batch)
            yield batch

    return read'''

FEED_HELPERS = {
    "Endless": _ENDLESS,
    "for_tf_data": _FOR_TF_DATA,
    "as_dataset": _DATASET,
    "shuffled": _SHUFFLED,
    "in_order": _IN_ORDER,
    "replayed": _REPLAYED,
}
