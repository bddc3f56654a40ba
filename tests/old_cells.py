"""Small cells in the idioms of TensorFlow 1.11 to 2.4, what each becomes, and what must hold after it ran.

They run in a namespace that has ``tf``, ``keras``, ``np``, ``pd``, ``os``, ``K``, rows ``x`` with class numbers
``y`` and one-hot rows ``y_hot``, a compiled ``model`` and a ``folder`` to save to.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OldCell:
    """One idiom.

    Attributes:
        name: What it is.
        old: The cell as it was written then.
        new: What it becomes.
        check: An expression that is true after it ran.
        backends: Where it runs.
        replicated: Whether several replicas make a difference; the others run on one, which is quicker.
    """

    name: str
    old: str
    new: str
    check: str = "True"
    backends: tuple[str, ...] = ("jax", "tensorflow")
    replicated: bool = False


IMPORT = "import colab_tpu_magic.legacy\n"
STRATEGY = "colab_tpu_magic.legacy.strategy()"
RESOLVER = "colab_tpu_magic.legacy.resolver()"
ADDRESS = "colab_tpu_magic.legacy.address()"

OLD_CELLS = (
    OldCell(
        "address in a variable",
        "TPU_WORKER = 'grpc://' + os.environ['COLAB_TPU_ADDR']  # the node\n",
        f"{IMPORT}TPU_WORKER = {ADDRESS}  # the node\n",
        "'replica' in TPU_WORKER",
        replicated=True,
    ),
    OldCell(
        "address that is tested for",
        "if 'COLAB_TPU_ADDR' not in os.environ:\n"
        "    print('ERROR: Not connected to a TPU runtime')\n"
        "else:\n"
        "    tpu_address = 'grpc://{}'.format(os.environ['COLAB_TPU_ADDR'])\n",
        f"{IMPORT}if not colab_tpu_magic.legacy.has_tpu():\n"
        "    print('ERROR: Not connected to a TPU runtime')\n"
        "else:\n"
        f"    tpu_address = {ADDRESS}\n",
        "'replica' in tpu_address",
    ),
    OldCell(
        "address by get",
        'address = os.environ.get("COLAB_TPU_ADDR")\n',
        f"{IMPORT}address = (colab_tpu_magic.legacy.address() if colab_tpu_magic.legacy.has_tpu() else None)\n",
        "'replica' in address",
    ),
    OldCell(
        "the cores of the TPU are listed",
        "address = 'grpc://' + os.environ['COLAB_TPU_ADDR']\n"
        "with tf.Session(address) as session:  # look\n"
        "    devices = session.list_devices()\n"
        "    for device in devices:\n"
        "        print(device.name, device.device_type)\n"
        "sess = tf.compat.v1.Session(address)\n"
        "again = sess.list_devices()\n"
        "sess.close()\n"
        "once_more = tf.Session('grpc://' + os.environ['COLAB_TPU_ADDR']).list_devices()\n",
        f"{IMPORT}address = {ADDRESS}\n"
        "with colab_tpu_magic.legacy.session() as session:  # look\n"
        "    devices = session.list_devices()\n"
        "    for device in devices:\n"
        "        print(device.name, device.device_type)\n"
        "sess = colab_tpu_magic.legacy.session()\n"
        "again = sess.list_devices()\n"
        "sess.close()\n"
        "once_more = colab_tpu_magic.legacy.session().list_devices()\n",
        "len(devices) == replicas and devices == again == once_more and devices[0].device_type == 'TPU'",
        replicated=True,
    ),
    OldCell(
        "activations of TensorFlow in layers",
        "made = tf.keras.Sequential([\n"
        "    tf.keras.layers.Dense(8, input_shape=(20,), activation=tf.nn.relu),  # hidden\n"
        "    tf.keras.layers.Dense(8, tf.tanh),\n"
        "    tf.keras.layers.Activation(tf.nn.leaky_relu),\n"
        "    tf.keras.layers.Dense(2, activation=tf.nn.softmax)])\n"
        "made.compile('adam', loss=tf.keras.losses.sparse_categorical_crossentropy)\n"
        "made.fit(x, y)\n",
        "made = tf.keras.Sequential([\n"
        "    tf.keras.layers.Dense(8, input_shape=(20,), activation='relu'),  # hidden\n"
        "    tf.keras.layers.Dense(8, 'tanh'),\n"
        "    tf.keras.layers.Activation('leaky_relu'),\n"
        "    tf.keras.layers.Dense(2, activation='softmax')])\n"
        "made.compile('adam', loss=tf.keras.losses.sparse_categorical_crossentropy)\n"
        "made.fit(x, y)\n",
        "trained() and [one.activation.__name__ for one in made.layers] == ['relu', 'tanh', 'leaky_relu', 'softmax']",
        replicated=True,
    ),
    OldCell(
        "the conversion to a TPU model",
        "resolver = tf.contrib.cluster_resolver.TPUClusterResolver('grpc://' + os.environ['COLAB_TPU_ADDR'])\n"
        "strategy = tf.contrib.tpu.TPUDistributionStrategy(resolver)\n"
        "tpu_model = tf.contrib.tpu.keras_to_tpu_model(model, strategy=strategy)\n"
        "tpu_model.fit(x, y, batch_size=16 * 8, epochs=1)\n"
        "tpu_model.sync_to_cpu()\n"
        "cpu_model = tpu_model.sync_to_cpu()\n",
        f"{IMPORT}resolver = {RESOLVER}\n"
        f"strategy = {STRATEGY}\n"
        "tpu_model = model\n"
        "tpu_model.fit(x, y, batch_size=16 * 8, epochs=1)\n"
        "cpu_model = tpu_model\n",
        "cpu_model is model and trained()",
        replicated=True,
    ),
    OldCell(
        "names imported one by one",
        "from tensorflow.contrib.tpu import keras_to_tpu_model, TPUDistributionStrategy\n"
        "from tensorflow.contrib.cluster_resolver import TPUClusterResolver\n"
        "tpu_model = keras_to_tpu_model(model, TPUDistributionStrategy(TPUClusterResolver()))\n"
        "tpu_model.fit(x, y)\n",
        "tpu_model = model\ntpu_model.fit(x, y)\n",
        "trained()",
    ),
    OldCell(
        "TensorFlow 2.1's way to a TPU",
        "try:\n"
        "    # TPU detection\n"
        "    tpu = tf.distribute.cluster_resolver.TPUClusterResolver()\n"
        "    print('Running on TPU', tpu.master(), tpu.cluster_spec().as_dict()['worker'])\n"
        "except ValueError:\n"
        "    tpu = None\n"
        "if tpu:\n"
        "    tf.config.experimental_connect_to_cluster(tpu)\n"
        "    tf.tpu.experimental.initialize_tpu_system(tpu)\n"
        "    strategy = tf.distribute.experimental.TPUStrategy(tpu)\n"
        "else:\n"
        "    strategy = tf.distribute.get_strategy()\n"
        "BATCH_SIZE = 16 * strategy.num_replicas_in_sync\n"
        "with strategy.scope():\n"
        "    made = keras.Sequential([keras.Input((20,)), keras.layers.Dense(2, activation='softmax')])\n"
        "    made.compile('adam', 'sparse_categorical_crossentropy')\n"
        "made.fit(x, y, batch_size=BATCH_SIZE)\n",
        f"{IMPORT}try:\n"
        "    # TPU detection\n"
        f"    tpu = {RESOLVER}\n"
        "    print('Running on TPU', tpu.master(), tpu.cluster_spec().as_dict()['worker'])\n"
        "except ValueError:\n"
        "    tpu = None\n"
        "if tpu:\n"
        f"    strategy = {STRATEGY}\n"
        "else:\n"
        "    strategy = tf.distribute.get_strategy()\n"
        "BATCH_SIZE = 16 * strategy.num_replicas_in_sync\n"
        "with strategy.scope():\n"
        "    made = keras.Sequential([keras.Input((20,)), keras.layers.Dense(2, activation='softmax')])\n"
        "    made.compile('adam', 'sparse_categorical_crossentropy')\n"
        "made.fit(x, y, batch_size=BATCH_SIZE)\n",
        "BATCH_SIZE == 16 * replicas and trained() and made.predict(x[:3], verbose=0).shape == (3, 2)",
        replicated=True,
    ),
    OldCell(
        "a resolver with a name, and TPUStrategy of 2.3",
        "resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect(tpu='')\n"
        "topology = tf.tpu.experimental.initialize_tpu_system(resolver)\n"
        "strategy = tf.distribute.TPUStrategy(resolver)\n",
        f"{IMPORT}resolver = {RESOLVER}\ntopology = None\nstrategy = {STRATEGY}\n",
        "strategy.num_replicas_in_sync == replicas",
        replicated=True,
    ),
    OldCell(
        "a replicated step",
        "strategy = tf.distribute.experimental.TPUStrategy(None)\n"
        "def step(v):\n"
        "    return v * 2\n"
        "out = strategy.experimental_run_v2(step, args=(tf.constant(2.0),))\n",
        f"{IMPORT}strategy = {STRATEGY}\n"
        "def step(v):\n"
        "    return v * 2\n"
        "out = strategy.run(step, args=(tf.constant(2.0),))\n",
        "out is not None",
        ("tensorflow",),
        replicated=True,
    ),
    OldCell(
        "Adam of TensorFlow 1",
        "opt = tf.train.AdamOptimizer(1e-3, beta1=0.8)\n"
        "model.compile(optimizer=opt, loss='sparse_categorical_crossentropy', metrics=['acc'])\n"
        "h = model.fit(x, y)\n",
        "opt = tf.keras.optimizers.Adam(1e-3, beta_1=0.8, epsilon=1e-08)\n"
        "model.compile(optimizer=opt, loss='sparse_categorical_crossentropy', metrics=['acc'])\n"
        "h = model.fit(x, y)\n",
        "float(opt.beta_1) == 0.8 and opt.epsilon == 1e-8 and 'acc' in h.history",
    ),
    OldCell(
        "momentum and plain descent",
        "a = tf.compat.v1.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True)\n"
        "b = tf.train.GradientDescentOptimizer(learning_rate=0.5, use_locking=False, name='sgd')\n",
        "a = tf.keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True)\n"
        "b = tf.keras.optimizers.SGD(learning_rate=0.5, name='sgd')\n",
        "(a.momentum, a.nesterov, round(float(b.learning_rate), 6), b.name) == (0.9, True, 0.5, 'sgd')",
    ),
    OldCell(
        "RMSProp, Adagrad, Adadelta and Ftrl",
        "a = tf.train.RMSPropOptimizer(0.01, decay=0.95, momentum=0.1)\n"
        "b = tf.train.AdagradOptimizer(0.01, 0.2)\n"
        "c = tf.train.AdadeltaOptimizer(1.0, 0.9)\n"
        "d = tf.train.FtrlOptimizer(0.1, -0.4, 0.2, 0.01, 0.02)\n",
        "a = tf.keras.optimizers.RMSprop(0.01, rho=0.95, momentum=0.1, epsilon=1e-10)\n"
        "b = tf.keras.optimizers.Adagrad(0.01, initial_accumulator_value=0.2)\n"
        "c = tf.keras.optimizers.Adadelta(1.0, rho=0.9, epsilon=1e-08)\n"
        "d = tf.keras.optimizers.Ftrl(0.1, learning_rate_power=-0.4, initial_accumulator_value=0.2, "
        "l1_regularization_strength=0.01, l2_regularization_strength=0.02)\n",
        "(a.rho, a.momentum, a.epsilon) == (0.95, 0.1, 1e-10) and b.initial_accumulator_value == 0.2 "
        "and (c.rho, c.epsilon) == (0.9, 1e-8) and (d.learning_rate_power, d.l2_regularization_strength) == (-0.4, 0.02)",
    ),
    OldCell(
        "an optimizer wrapped for the TPU, with a schedule",
        "rate = tf.train.exponential_decay(0.1, tf.train.get_global_step(), 10, 0.5, staircase=True)\n"
        "opt = tf.contrib.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(rate))\n"
        "model.compile(opt, 'sparse_categorical_crossentropy')\n"
        "model.fit(x, y)\n",
        "rate = tf.keras.optimizers.schedules.ExponentialDecay(0.1, decay_steps=10, decay_rate=0.5, staircase=True)\n"
        "opt = tf.keras.optimizers.SGD(rate)\n"
        "model.compile(opt, 'sparse_categorical_crossentropy')\n"
        "model.fit(x, y)\n",
        "trained() and round(float(rate(10)), 6) == 0.05",
    ),
    OldCell(
        "lr",
        "opt = keras.optimizers.SGD(lr=0.3, momentum=0.9)\n",
        "opt = keras.optimizers.SGD(learning_rate=0.3, momentum=0.9)\n",
        "round(float(opt.learning_rate), 6) == 0.3",
    ),
    OldCell(
        "decay",
        "from keras.optimizers import Adam\n"
        "opt = Adam(lr=0.5, decay=0.01)\n"
        "model.compile(opt, 'sparse_categorical_crossentropy')\n"
        "model.fit(x, y)\n",
        "import keras\n"
        "from keras.optimizers import Adam\n"
        "opt = Adam(learning_rate=keras.optimizers.schedules.InverseTimeDecay(0.5, decay_steps=1, decay_rate=0.01))\n"
        "model.compile(opt, 'sparse_categorical_crossentropy')\n"
        "model.fit(x, y)\n",
        "round(float(opt._learning_rate(100)), 6) == 0.25",
    ),
    OldCell(
        "legacy optimizers and the rate of a model's",
        "model.compile(tf.keras.optimizers.legacy.SGD(0.25), 'sparse_categorical_crossentropy')\n"
        "rate = K.get_value(model.optimizer.lr) if hasattr(K, 'get_value') else float(model.optimizer.lr)\n",
        "import keras\n"
        "model.compile(tf.keras.optimizers.SGD(0.25), 'sparse_categorical_crossentropy')\n"
        "rate = keras.ops.convert_to_numpy(model.optimizer.learning_rate) if hasattr(K, 'get_value') "
        "else float(model.optimizer.learning_rate)\n",
        "rate == 0.25",
    ),
    OldCell(
        "calls of keras.backend",
        "def rmse(a, b): return K.sqrt(K.mean(K.square(a - b), axis=-1))\n"
        "u = K.expand_dims(K.argmax(np.float32([[1, 2]])))\n"
        "v = K.clip(K.cast(np.int32([-3, 3]), 'float32'), -1, 1)  # both ends\n"
        "K.set_value(model.optimizer.lr, 0.125)\n"
        "w = K.get_value(K.sum(v)), K.int_shape(u), K.epsilon()\n"
        "r = tf.keras.backend.sqrt(np.float32([-1, 4]))\n",
        "import keras\n"
        "def rmse(a, b): return keras.ops.sqrt(keras.ops.maximum(keras.ops.mean(keras.ops.square(a - b), axis=-1), 0))\n"
        "u = keras.ops.expand_dims(keras.ops.argmax(np.float32([[1, 2]]), axis=-1), axis=-1)\n"
        "v = keras.ops.clip(keras.ops.cast(np.int32([-3, 3]), 'float32'), -1, 1)  # both ends\n"
        "model.optimizer.learning_rate.assign(0.125)\n"
        "w = keras.ops.convert_to_numpy(keras.ops.sum(v)), u.shape, K.epsilon()\n"
        "r = tf.keras.ops.sqrt(tf.keras.ops.maximum(np.float32([-1, 4]), 0))\n",
        "float(rmse(np.float32([1, 1]), np.float32([0, 0]))) == 1 and np.asarray(u).tolist() == [[1]] and w[0] == 0 "
        "and w[1] == (1, 1) and float(model.optimizer.learning_rate) == 0.125 and np.asarray(r).tolist() == [0, 2]",
    ),
    OldCell(
        "accuracy logged as acc, and a plateau's epsilon",
        "from tensorflow.keras.callbacks import EarlyStopping, ReduceLROnPlateau\n"
        "model.compile('adam', 'sparse_categorical_crossentropy', metrics=['accuracy'])\n"
        "plateau = ReduceLROnPlateau('val_acc', epsilon=0.5)\n"
        "stop = EarlyStopping(monitor='val_acc', patience=3)\n"
        "h = model.fit(x, y, validation_split=0.25, verbose=0, callbacks=[stop, plateau])\n"
        "last = h.history['acc'][-1], h.history.get('val_acc')[-1]\n",
        "from tensorflow.keras.callbacks import EarlyStopping, ReduceLROnPlateau\n"
        "model.compile('adam', 'sparse_categorical_crossentropy', metrics=['accuracy'])\n"
        "plateau = ReduceLROnPlateau('val_accuracy', min_delta=0.5)\n"
        "stop = EarlyStopping(monitor='val_accuracy', patience=3)\n"
        "h = model.fit(x, y, validation_split=0.25, verbose=0, callbacks=[stop, plateau])\n"
        "last = h.history['accuracy'][-1], h.history.get('val_accuracy')[-1]\n",
        "trained(1) and plateau.min_delta == 0.5 and stop.best is not None and len(last) == 2",
    ),
    OldCell(
        "generators",
        "def batches():\n"
        "    while True:\n"
        "        yield x[:32], y[:32]\n"
        "h = model.fit_generator(batches(), 4, 2, verbose=0, workers=4, use_multiprocessing=True)\n"
        "score = model.evaluate_generator(batches(), 3, max_queue_size=10)\n"
        "p = model.predict_generator(generator=(part for part in [x[:8]]), steps=1)\n",
        "def batches():\n"
        "    while True:\n"
        "        yield x[:32], y[:32]\n"
        "h = model.fit(batches(), steps_per_epoch=4, epochs=2, verbose=0)\n"
        "score = model.evaluate(batches(), steps=3)\n"
        "p = model.predict(x=(part for part in [x[:8]]), steps=1)\n",
        "len(h.history['loss']) == 2",
        replicated=True,
    ),
    OldCell(
        "an input function",
        "def input_fn(batch_size=64):\n"
        "    data = tf.data.Dataset.from_tensor_slices((x, y))\n"
        "    return data.repeat().batch(batch_size, drop_remainder=True)\n"
        "model.fit(input_fn, steps_per_epoch=3, validation_data=input_fn, validation_steps=2)\n",
        "def input_fn(batch_size=64):\n"
        "    data = tf.data.Dataset.from_tensor_slices((x, y))\n"
        "    return data.repeat().batch(batch_size, drop_remainder=True)\n"
        "model.fit(input_fn(), steps_per_epoch=3, validation_data=input_fn(), validation_steps=2)\n",
        "trained()",
        replicated=True,
    ),
    OldCell(
        "an input function that returns the tensors of one batch",
        "def input_fn():\n"
        "    data = tf.data.Dataset.from_tensor_slices((x, y)).repeat()\n"
        "    data = data.apply(tf.contrib.data.batch_and_drop_remainder(64))\n"
        "    return data.make_one_shot_iterator().get_next()\n"
        "model.fit(input_fn, steps_per_epoch=3)\n",
        "def input_fn():\n"
        "    data = tf.data.Dataset.from_tensor_slices((x, y)).repeat()\n"
        "    data = data.batch(64, drop_remainder=True)\n"
        "    return data\n"
        "model.fit(input_fn(), steps_per_epoch=3)\n",
        "trained()",
    ),
    OldCell(
        "one-shot iterators",
        "data = tf.data.Dataset.from_tensor_slices((x, y)).batch(64)\n"
        "it = data.make_one_shot_iterator()\n"
        "first = it.get_next()\n"
        "again, _ = tf.compat.v1.data.make_one_shot_iterator(data).get_next()\n"
        "model.fit(data.make_one_shot_iterator())\n",
        "data = tf.data.Dataset.from_tensor_slices((x, y)).batch(64)\n"
        "it = iter(data)\n"
        "first = it.get_next()\n"
        "again, _ = next(iter(data))\n"
        "model.fit(data)\n",
        "trained() and again.shape == (64, 20)",
    ),
    OldCell(
        "weight files",
        "path = folder + '/last.h5'\n"
        "model.save_weights(path, overwrite=True)\n"
        "model.save_weights(os.path.join(folder, 'model.h5'), save_format='h5')\n"
        "model.load_weights(os.path.join(folder, 'model.h5'))\n"
        "best = keras.callbacks.ModelCheckpoint(folder + '/best.hdf5', monitor='loss', save_weights_only=True)\n"
        "model.fit(x, y, callbacks=[best])\n",
        "path = folder + '/last.weights.h5'\n"
        "model.save_weights(path, overwrite=True)\n"
        "model.save_weights(os.path.join(folder, 'model.weights.h5'))\n"
        "model.load_weights(os.path.join(folder, 'model.weights.h5'))\n"
        "best = keras.callbacks.ModelCheckpoint(folder + '/best.weights.h5', monitor='loss', save_weights_only=True)\n"
        "model.fit(x, y, callbacks=[best])\n",
        "sorted(os.listdir(folder)) == ['best.weights.h5', 'last.weights.h5', 'model.weights.h5']",
        replicated=True,
    ),
    OldCell(
        "set-up of the session and of Keras",
        "# memory as needed\n"
        "config = tf.ConfigProto()\n"
        "config.gpu_options.allow_growth = True\n"
        "K.set_session(tf.Session(config=config))\n"
        "K.set_image_dim_ordering('tf')\n"
        "K.set_learning_phase(1)  # training\n"
        "K.clear_session()\n",
        "# memory as needed\n"
        "config = tf.compat.v1.ConfigProto()\n"
        "config.gpu_options.allow_growth = True\n"
        "K.set_image_data_format('channels_last')\n"
        "# training\n"
        "K.clear_session()\n",
        "K.image_data_format() == 'channels_last'",
    ),
    OldCell(
        "eager execution, logging and the seed",
        "tf.enable_eager_execution()\n"
        "tf.logging.set_verbosity(tf.logging.ERROR)\n"
        "tf.set_random_seed(7)\n"
        "first = keras.random.uniform((2,))\n"
        "tf.random.set_random_seed(7)\n"
        "second = keras.random.uniform((2,))\n",
        "tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)\n"
        "tf.keras.utils.set_random_seed(7)\n"
        "first = keras.random.uniform((2,))\n"
        "tf.keras.utils.set_random_seed(7)\n"
        "second = keras.random.uniform((2,))\n",
        "np.allclose(first, second)",
    ),
    OldCell(
        "the interface of TensorFlow 1",
        "import tensorflow.compat.v1 as tf\n"
        "tf.disable_v2_behavior()\n"
        "model.compile(tf.train.AdamOptimizer(), 'sparse_categorical_crossentropy')\n"
        "model.fit(x, y)\n",
        "import tensorflow as tf\n"
        "model.compile(tf.keras.optimizers.Adam(epsilon=1e-08), 'sparse_categorical_crossentropy')\n"
        "model.fit(x, y)\n",
        "trained()",
    ),
    OldCell(
        "names that Keras moved",
        "from keras.utils import np_utils, plot_model\n"
        "from keras.utils.np_utils import to_categorical\n"
        "from keras.layers.core import Dense, Dropout\n"
        "from keras.layers.normalization import BatchNormalization\n"
        "from keras.engine.topology import Layer\n"
        "from tensorflow.keras.layers import CuDNNLSTM\n"
        "hot = np_utils.to_categorical(y)\n"
        "layer = tf.keras.layers.experimental.preprocessing.Rescaling(1 / 255)\n",
        "from keras import utils as np_utils; from keras.utils import plot_model\n"
        "from keras.utils import to_categorical\n"
        "from keras.layers import Dense, Dropout\n"
        "from keras.layers import BatchNormalization\n"
        "from keras.layers import Layer\n"
        "from tensorflow.keras.layers import LSTM as CuDNNLSTM\n"
        "hot = np_utils.to_categorical(y)\n"
        "layer = tf.keras.layers.Rescaling(1 / 255)\n",
        "hot.shape == (256, 2) and CuDNNLSTM is keras.layers.LSTM",
    ),
    OldCell(
        "Keras out of contrib and of TensorFlow's inner modules",
        "from tensorflow.contrib.keras.api.keras.layers import Dense\n"
        "from tensorflow.python.keras.models import Sequential\n"
        "import tensorflow.contrib.keras as kc\n"
        "layer = tf.contrib.keras.layers.Dense(3)\n",
        "from tensorflow.keras.layers import Dense\n"
        "from tensorflow.keras.models import Sequential\n"
        "import tensorflow.keras as kc\n"
        "layer = tf.keras.layers.Dense(3)\n",
        "isinstance(layer, keras.layers.Dense) and kc.layers.Dense is keras.layers.Dense",
    ),
    OldCell(
        "image generators of Keras 2",
        "from keras.preprocessing.image import ImageDataGenerator\n"
        "images = np.zeros((8, 4, 4, 1))\n"
        "batch = next(ImageDataGenerator(rescale=2.0).flow(images, batch_size=4))\n",
        "from tensorflow.keras.preprocessing.image import ImageDataGenerator\n"
        "images = np.zeros((8, 4, 4, 1))\n"
        "batch = next(ImageDataGenerator(rescale=2.0).flow(images, batch_size=4))\n",
        "batch.shape == (4, 4, 4, 1)",
    ),
    OldCell(
        "mixed precision",
        "from tensorflow.keras.mixed_precision import experimental as mixed_precision\n"
        "policy = mixed_precision.Policy('mixed_bfloat16')\n"
        "tf.keras.mixed_precision.experimental.set_policy('float32')\n",
        "from tensorflow.keras import mixed_precision\n"
        "policy = mixed_precision.Policy('mixed_bfloat16')\n"
        "tf.keras.mixed_precision.set_global_policy('float32')\n",
        "policy.compute_dtype == 'bfloat16'",
    ),
    OldCell(
        "aliases of NumPy",
        "a = x.astype(np.float)\nb = pd.np.ones(3, dtype=np.bool)\nc = [np.Inf, np.NaN, np.float32(1), np.product([2, 3])]\n",
        "import numpy as np\na = x.astype(float)\nb = np.ones(3, dtype=bool)\nc = [np.inf, np.nan, np.float32(1), np.prod([2, 3])]\n",
        "a.dtype == 'float64' and b.all() and c[3] == 6",
    ),
    OldCell(
        "distutils",
        "from distutils.version import LooseVersion\n"
        "import distutils.version\n"
        "ok = LooseVersion(tf.__version__) > LooseVersion('1.11')\n"
        "ok2 = distutils.version.LooseVersion('2.10') > distutils.version.LooseVersion('2.9')\n",
        "from packaging.version import Version as LooseVersion\n"
        "import packaging.version\n"
        "ok = LooseVersion(tf.__version__) > LooseVersion('1.11')\n"
        "ok2 = packaging.version.Version('2.10') > packaging.version.Version('2.9')\n",
        "ok and ok2",
    ),
    OldCell(
        "classes of predictions, epochs of Keras 1",
        "model.fit(x, y, nb_epoch=2)\nclasses = model.predict_classes(x[:16], verbose=0)\n",
        "model.fit(x, y, epochs=2)\nclasses = model.predict(x[:16], verbose=0).argmax(axis=-1)\n",
        "classes.shape == (16,) and trained(epochs=2)",
    ),
    OldCell(
        "several GPUs, and a strategy given to compile",
        "parallel = keras.utils.multi_gpu_model(model, gpus=8)\n"
        "parallel.compile('sgd', 'sparse_categorical_crossentropy', distribute=None)\n"
        "parallel.fit(x, y)\n",
        "parallel = model\nparallel.compile('sgd', 'sparse_categorical_crossentropy')\nparallel.fit(x, y)\n",
        "parallel is model and trained()",
    ),
    OldCell(
        "files and features",
        "name = folder + '/rows.tfrecord'\n"
        "with tf.python_io.TFRecordWriter(name) as w:\n"
        "    w.write(b'row')\n"
        "spec = {'label': tf.FixedLenFeature([], tf.int64)}\n"
        "there = tf.gfile.Exists(name)\n",
        "name = folder + '/rows.tfrecord'\n"
        "with tf.io.TFRecordWriter(name) as w:\n"
        "    w.write(b'row')\n"
        "spec = {'label': tf.io.FixedLenFeature([], tf.int64)}\n"
        "there = tf.io.gfile.exists(name)\n",
        "there and spec['label'].dtype == tf.int64",
    ),
    OldCell(
        "versions that are asked for",
        "%tensorflow_version 1.x\n!pip install -q tensorflow==1.14.0\n"
        "try:\n    %tensorflow_version 2.x\nexcept Exception:\n    pass\n"
        "opt = tf.train.GradientDescentOptimizer(0.5)\n%who_ls int\n",
        "# %tensorflow_version 1.x\n# !pip install -q tensorflow==1.14.0\n"
        "try:\n    pass  # %tensorflow_version 2.x\nexcept Exception:\n    pass\n"
        "opt = tf.keras.optimizers.SGD(0.5)\n%who_ls int\n",
        "opt.learning_rate == 0.5",
    ),
    OldCell(
        "metrics by position, steps per execution, period",
        "model.compile('sgd', 'sparse_categorical_crossentropy', ['accuracy'], experimental_steps_per_execution=2)\n"
        "saver = keras.callbacks.ModelCheckpoint(folder + '/ck.h5', period=1, monitor='loss')\n"
        "h = model.fit(x, y, callbacks=[saver])\n"
        "m = keras.models.load_model(folder + '/ck.h5')\n"
        "classes = m.predict_classes(x[:16])\n"
        "whole = tf.to_int32([1.5])\n",
        "model.compile('sgd', 'sparse_categorical_crossentropy', metrics=['accuracy'], steps_per_execution=2)\n"
        "saver = keras.callbacks.ModelCheckpoint(folder + '/ck.h5', monitor='loss')\n"
        "h = model.fit(x, y, callbacks=[saver])\n"
        "m = keras.models.load_model(folder + '/ck.h5')\n"
        "classes = m.predict(x[:16]).argmax(axis=-1)\n"
        "whole = tf.cast([1.5], tf.int32)\n",
        "'accuracy' in h.history and classes.shape == (16,) and int(whole[0]) == 1",
    ),
    OldCell(
        "decay under a callback that sets the rate",
        "opt = keras.optimizers.RMSprop(lr=1e-3, decay=1e-6)\n"
        "model.compile(opt, 'sparse_categorical_crossentropy')\n"
        "model.fit(x, y, callbacks=[keras.callbacks.LearningRateScheduler(lambda epoch: 0.25)])\n",
        "opt = keras.optimizers.RMSprop(learning_rate=1e-3)\n"
        "model.compile(opt, 'sparse_categorical_crossentropy')\n"
        "model.fit(x, y, callbacks=[keras.callbacks.LearningRateScheduler(lambda epoch: 0.25)])\n",
        "trained() and float(opt.learning_rate) == 0.25",
    ),
    OldCell(
        "a cell copied from a page",
        "def double(v):\nw = v * 2\nreturn w\n\nprint(“it’s”, double(3), ‘a “b”’)\u00a0# ‘done’\n",
        "def double(v):\n    w = v * 2\n    return w\n\nprint(\"it’s\", double(3), 'a “b”') # ‘done’\n",
        "double(4) == 8",
    ),
)
