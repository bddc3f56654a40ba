"""What there is to teach about each rule, beyond the two sentences that stand with a change."""

from __future__ import annotations

LESSONS: dict[str, tuple[str, ...]] = {
    "scope": (
        "This is data parallel training: every replica has all weights and sees a different share of the batch. After "
        "each step the replicas add up their gradients and take the mean, so they all make the same update and stay "
        "alike. On JAX the result is that of one device with the whole batch, to rounding.",
        "Frameworks usually want the model made inside a scope of the strategy. Here the variables of the model you "
        "have are moved instead, those of its optimizer and its metrics too, and moved back after the cell.",
    ),
    "jit-compile": (
        "XLA turns the whole training step into one program for the device. TPUStrategy does that by itself for every "
        "replica; jit_compile=True asks for a second compilation within it, on the host, for which there is no way to "
        "move data. On JAX every step is compiled anyway, and the rule has nothing to do.",
    ),
    "dtypes": (
        "NumPy makes 64-bit numbers unless told otherwise. Half of those bits never reach the matrix unit, and all of "
        "them travel: a batch of float64 takes twice the time from host to device. Whole numbers that do not fit in "
        "32 bits are refused rather than cut.",
    ),
    "batch-size": (
        "Memory and matrix unit work on tiles of 8 × 128 numbers. A share of 4 rows fills half a tile and costs a whole "
        "one. From 128 rows a replica on, the tiles are full and the time of a step grows with its work.",
        "A larger batch is not free of cost for learning: an epoch has fewer steps. So the batch grows only as long as "
        "an epoch keeps 50 steps, and the learning rate grows with it.",
    ),
    "static-shapes": (
        "Compiling a step takes seconds, running it milliseconds. A last batch of 32 rows in place of 128 is a new "
        "shape and a second program; text of any length is a new program for every length.",
        "Dropping the last batch would lose rows, padding it with zeros would bend the mean of the loss and the "
        "statistics of BatchNormalization. Completing it from the next shuffle does neither: each row is seen as often "
        "as any other.",
        "Padding is computed like data. Where a mask hides it and the order is free, rows of alike length share a batch: all "
        "rows are shuffled, grouped by length, cut into batches, and the batches shuffled.",
    ),
    "learning-rate": (
        "A gradient over a larger batch is less noisy. Where plain SGD took eight steps with eight small batches, it "
        "can take one step eight times as long; Adam and its relatives divide by the size of the gradient's noise, "
        "and for them the square root is the right growth.",
        "Both hold for moderate growth only. Hence the caps, and hence the advice to warm up a rate that is large: start "
        "low and raise it over the first epochs.",
    ),
    "precision": (
        "bfloat16 is float32 with the last 16 bits cut off: the same range of 8 exponent bits, about three decimal "
        "digits. Sums, weights and the last layer stay float32, so small updates are not lost, and no loss scaling is "
        "needed as it is with float16.",
    ),
    "input-pipeline": (
        "Say that a step takes as long as gathering its batch. If the host begins to gather the next batch only when the "
        "step is done, the TPU waits half of the time; if it gathers the next one meanwhile, nobody waits.",
        "Picking rows one by one is slow, too: a shuffled list of row numbers and one gather for the whole batch does "
        "the same several times as fast. The shuffle goes over all rows, not over a small buffer of them.",
    ),
    "steps-per-execution": (
        "Between two steps Python gives the order for the next one, calls the callbacks and looks at the metrics. With "
        "several steps in one order that happens once for all of them. What happens inside is the same, and callbacks "
        "hear of the last step of each order.",
    ),
    "text-layers": (
        "No accelerator has strings: TextVectorization, StringLookup, IntegerLookup and Hashing work on the CPU, with "
        "TensorFlow's strings and tables, on either backend. Keras on JAX trains no model that begins with one. Here the "
        "layers that the model begins with are called for each batch while it is gathered, and the step begins after "
        "them; weights, optimizer and metrics are those of your own model, and nothing is copied.",
        "Text is made anew in each epoch. Where that takes longer than a step, the header says that the device waits; "
        "then make the numbers once, before the fit. After the cell the model takes text as it did before: on TensorFlow "
        "model.predict(tf.constant(texts)) works anywhere, on JAX in a %%tpu_fit cell.",
    ),
    "normalise-on-device": (
        "A picture is stored as bytes from 0 to 255. Divided by 255 on the host it becomes four bytes a value, and four "
        "times as much travels to the device. Sent as a byte and made a float there, it travels at a quarter of the cost.",
        "The device does not divide, for its division may round otherwise than NumPy's: it takes the value from the list "
        "of those that occur. The list is made, and every value of the data compared with it, before the first step; "
        "one value that is not in it, and the data stays as it is.",
    ),
}
