"""The functions of an exported script for rows of varying length and for tensors that are not dense, as text."""

from __future__ import annotations

IN_LENGTHS = '''def full_batches_in_lengths(read, batch_size, longest, fill, forever=True{argument}{most}):
    """Cut and join batches of any size into batches of one size, padded to a few lengths.

    XLA compiles the step for each shape, so rows are padded to the next of 8, 16, 32, ..., and to
    the longest that is known in the place of the last of these: a handful of shapes, and at most
    half of a batch is padding.

    Args:
        read: A function that returns the batches of one pass.
        batch_size: Rows in every batch.
        longest: Of each array, the axes whose lengths vary, and the longest that is known of each.
        fill: What each array is padded with.
        forever: Go on with the next pass; otherwise the first rows complete the last batch.{explained}{counted}
    """

    def padded(array, lengths, value):
        more = [(0, lengths.get(axis, have) - have) for axis, have in enumerate(array.shape)]
        return np.pad(array, more, constant_values=value)

    def length_for(length, most):
        step = 8
        while step < length:
            step *= 2
        return min(step, most) if length <= most else step

    def joined(batches):
        arrays = []
        for parts, axes, value in zip(zip(*map(keras.tree.flatten, batches)), longest, fill):
            lengths = {axis: max(part.shape[axis] for part in parts) for axis in axes}
            arrays.append(np.concatenate([padded(part, lengths, value) for part in parts]))
        return keras.tree.pack_sequence_as(batches[0], arrays)

    def in_few_lengths(batch):
        arrays = []
        for array, axes, value in zip(keras.tree.flatten(batch), longest, fill):
            lengths = {axis: length_for(array.shape[axis], most) for axis, most in axes.items()}
            arrays.append(padded(array, lengths, value))
        return keras.tree.pack_sequence_as(batch, arrays)

    def rows_of(batch):
        return len(keras.tree.flatten(batch)[0])

    def cut(batch, start, stop):
        return keras.tree.map_structure(lambda array: array[start:stop], batch)

    def batches():
        first, waiting, have = None, [], 0{begin}
        while True:
            for batch in read():
                batch = keras.tree.map_structure(np.asarray, tuple(batch))
                first = batch if first is None else first
                waiting.append(batch)
                have += rows_of(batch)
                if have < batch_size:
                    continue
                line, start = joined(waiting), 0
                while start + batch_size <= have:
                    yield in_few_lengths(cut(line, start, start + batch_size))
                    start += batch_size
                have -= start
                waiting = [cut(line, start, None)] if have else []
            if not forever:
                break
        while 0 < have < batch_size:
            waiting.append(cut(first, 0, batch_size - have))
            have += rows_of(waiting[-1])
        if have:
            yield in_few_lengths(joined(waiting))

    return {made}'''

DATASET_IN_LENGTHS = '''def as_dataset_in_lengths(batches, batch_size, longest, most=None):
    """Return a tf.data.Dataset over the batches of a generator function; some axes have several lengths."""
    batches = for_tf_data(batches, most)
    example = next(batches())
    specs = []
    for array, axes in zip(keras.tree.flatten(example), longest):
        shape = [None if axis in axes else length for axis, length in enumerate(array.shape)]
        specs.append(tf.TensorSpec(shape, array.dtype))
    signature = keras.tree.pack_sequence_as(example, specs)
    return tf.data.Dataset.from_generator(batches, output_signature=signature).prefetch(2)'''

DENSE = '''def dense(dataset, fill=0):
    """Write sparse tensors out in full and pad ragged rows to the longest of their batch: a TPU has dense ones only."""

    def written_out(*parts):
        def one(tensor, value):
            if isinstance(tensor, tf.SparseTensor):
                return tf.sparse.to_dense(tensor)
            if isinstance(tensor, tf.RaggedTensor):
                return tensor.to_tensor(tf.cast(value, tensor.dtype))
            return tensor

        x, *others = parts
        inputs = tf.nest.map_structure(lambda tensor: one(tensor, fill), x)
        return inputs, *tf.nest.map_structure(lambda tensor: one(tensor, 0), others)

    return dataset.map(written_out, num_parallel_calls=tf.data.AUTOTUNE)'''

PADDED_ROWS = '''def padded_rows(dataset, batch_size, fill, drop_remainder=False):
    """Return single rows as batches, each array of them filled up with a number of its own."""
    spec = dataset.element_spec
    values = [tf.cast(value, part.dtype) for value, part in zip(fill, tf.nest.flatten(spec))]
    values = tf.nest.pack_sequence_as(spec, values)
    return dataset.padded_batch(batch_size, padding_values=values, drop_remainder=drop_remainder)'''

LENGTH_HELPERS = {
    "padded_rows": PADDED_ROWS,
    "dense": DENSE,
    "as_dataset_in_lengths": DATASET_IN_LENGTHS,
    "full_batches_in_lengths": IN_LENGTHS,
}
