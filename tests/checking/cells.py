"""Cells for the tests: a minimal one for each trap that a cell's text shows, and ten in which all is well."""

from __future__ import annotations

TRAPS = {
    "no-tensorflow": "import tensorflow as tf",
    "tensorflow-1": "optimizer = tf.train.AdamOptimizer(0.01)",
    "tensorflow-1, contrib": "tpu_model = tf.contrib.tpu.keras_to_tpu_model(model)",
    "tensorflow-1, estimator": "estimator = tf.compat.v1.estimator.tpu.TPUEstimator(model_fn=model_fn)",
    "tensorflow-1, session": "with tf.compat.v1.Session() as session:\n    session.run(train)",
    "cluster-resolver": "resolver = tf.distribute.cluster_resolver.TPUClusterResolver()",
    "cluster-resolver, empty": "resolver = TPUClusterResolver(tpu='')",
    "tpu-node": "import os\naddress = 'grpc://' + os.environ['COLAB_TPU_ADDR']",
    "swallowed-error": (
        "try:\n    resolver = TPUClusterResolver('local')\n    strategy = tf.distribute.TPUStrategy(resolver)\n"
        "except ValueError:\n    strategy = tf.distribute.get_strategy()"
    ),
    "swallowed-error, bare": "try:\n    devices = jax.devices('tpu')\nexcept:\n    devices = jax.devices()",
    "backend-after-import": "import keras\nimport os\nos.environ['KERAS_BACKEND'] = 'jax'",
    "backend-after-import, config": "import keras\nkeras.config.set_backend('jax')",
    "outside-scope": (
        "model = keras.Sequential([keras.layers.Dense(2)])\nwith strategy.scope():\n    model.compile('adam', 'mse')"
    ),
    "outside-scope, optimizer": (
        "adam = keras.optimizers.Adam()\nwith strategy.scope():\n"
        "    model = make(); model = keras.Sequential([]); model.compile(adam, 'mse')"
    ),
    "jit-under-strategy": (
        "strategy = tf.distribute.TPUStrategy(resolver)\nmodel.compile('adam', 'mse', jit_compile=True)"
    ),
    "h5-names": "model.save_weights('weights.h5')",
    "h5-names, checkpoint": "keras.callbacks.ModelCheckpoint('best.h5', save_best_only=True)",
    "h5-names, model": "model.save('model.h5')",
    "python-feed": "images = keras.preprocessing.image.ImageDataGenerator(rescale=1 / 255).flow(x, y)",
    "batch-callbacks": (
        "class Print(keras.callbacks.Callback):\n    def on_train_batch_end(self, batch, logs=None):\n        print(logs)"
    ),
    "batch-callbacks, lambda": "keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: print(logs))",
    "batch-callbacks, save_freq": "keras.callbacks.ModelCheckpoint('best.keras', save_freq=100)",
}
"""Id of the trap (and which form of it) to a cell."""

_MODEL = """model = keras.Sequential([keras.Input((20,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(2, activation="softmax")])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
"""
CLEAN = {
    "plain": f"{_MODEL}model.fit(x, y, epochs=2)",
    "validation": f"{_MODEL}history = model.fit(x, y, epochs=2, validation_data=(x, y), verbose=0)\nbest = max(history.history['val_accuracy'])",
    "split and evaluate": f"{_MODEL}model.fit(x, y, validation_split=0.2)\nloss, accuracy = model.evaluate(x, y)",
    "predict": f"{_MODEL}model.fit(x, y)\nwrong = (model.predict(x).argmax(axis=1) != y).sum()",
    "callbacks": (
        f"{_MODEL}stop = keras.callbacks.EarlyStopping(patience=2, restore_best_weights=True)\n"
        "model.fit(x, y, epochs=3, validation_data=(x, y), callbacks=[stop, keras.callbacks.ReduceLROnPlateau()])"
    ),
    "functional, one-hot": (
        "inputs = keras.Input((20,))\nmiddle = keras.layers.Dropout(0.1)(keras.layers.Dense(64)(inputs))\n"
        "model = keras.Model(inputs, keras.layers.Dense(2, activation='softmax')(middle))\n"
        "model.compile(keras.optimizers.SGD(0.1, momentum=0.9), 'categorical_crossentropy')\n"
        "model.fit(x, keras.utils.to_categorical(y, 2), batch_size=64)"
    ),
    "regression": (
        "model = keras.Sequential([keras.layers.Dense(32, activation='relu'), keras.layers.Dense(1)])\n"
        "model.compile('rmsprop', 'mse')\nmodel.fit(x, x[:, :1], epochs=1)"
    ),
    "binary in a loop": (
        "for rate in (0.1, 0.01):\n"
        "    model = keras.Sequential([keras.Input((20,)), keras.layers.Dense(1, activation='sigmoid')])\n"
        "    model.compile(keras.optimizers.Adam(rate), 'binary_crossentropy', metrics=['accuracy'])\n"
        "    model.fit(x, y, verbose=0)"
    ),
    "dataset": (
        "import tensorflow as tf\ndata = tf.data.Dataset.from_tensor_slices((x, y)).cache().shuffle(1000, seed=1).batch(64).prefetch(2)\n"
        f"{_MODEL}model.fit(data, epochs=2, validation_data=data)"
    ),
    "subclassed": (
        "class Small(keras.Model):\n    def __init__(self):\n        super().__init__()\n"
        "        self.hidden, self.out = keras.layers.Dense(16, activation='relu'), keras.layers.Dense(2)\n\n"
        "    def call(self, inputs):\n        return self.out(self.hidden(inputs))\n\n\n"
        "model = Small()\nmodel.compile('adam', keras.losses.SparseCategoricalCrossentropy(from_logits=True))\nmodel.fit(x, y)"
    ),
}
"""Ten cells in which all is well; they find `x` (rows, 20), `y` with the classes 0 and 1, and `keras`."""
