"""The five cells of the article on Keras models and Colab's TPU, as a page of it gives them: its quotes and its lines.

A guest article by Sam Witteveen, written for TensorFlow 1.11.
"""

from __future__ import annotations

INPUT_FUNCTION = """\
def train_input_fn(batch_size=1024):
    # Convert the inputs to a Dataset.
    dataset = tf.data.Dataset.from_tensor_slices((x_train,y_train))
# Shuffle, repeat, and batch the examples.
    dataset = dataset.cache()
    dataset = dataset.shuffle(1000, reshuffle_each_iteration=True)
    dataset = dataset.repeat()
    dataset = dataset.batch(batch_size, drop_remainder=True)
# Return the dataset.
    return dataset
"""
ADDRESS = """\
try:
 device_name = os.environ[‘COLAB_TPU_ADDR’]
 TPU_ADDRESS = ‘grpc://’ + device_name
 print(‘Found TPU at: {}’.format(TPU_ADDRESS))
except KeyError:
 print(‘TPU not found’)
"""
OPTIMIZER = """\
# Use a tf optimizer rather than a Keras one for now
opt = tf.train.AdamOptimizer(learning_rate)
model.compile(
      optimizer=opt,
      loss='categorical_crossentropy',
      metrics=['acc'])
"""
CONVERSION = """\
tpu_model = tf.contrib.tpu.keras_to_tpu_model(
    model,
    strategy=tf.contrib.tpu.TPUDistributionStrategy(
        tf.contrib.cluster_resolver.TPUClusterResolver(TPU_ADDRESS)))
"""
TRAINING = """\
tpu_model.fit(
    train_input_fn,
    steps_per_epoch = 60,
    epochs=10,
)
"""
ARTICLE = (INPUT_FUNCTION, ADDRESS, OPTIMIZER, CONVERSION, TRAINING)
