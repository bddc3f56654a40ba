"""What the plan is compared on: ResNet-50 and transformers, as a user would write them in Keras."""

from __future__ import annotations

from typing import Any


def resnet50(classes: int = 1000) -> tuple[Any, Any, Any]:
    """Return ResNet-50 v1.5, compiled with momentum as published runs are, and the shapes of its batch.

    Version 1.5 has the stride of a stage in its 3 × 3 convolution; ``keras.applications`` has version 1, with an
    eighth less to compute. The weights' decay, label smoothing and LARS of the published runs are left out.
    """
    import keras
    from keras import layers

    def conv(x: Any, filters: int, size: int, strides: int = 1, active: bool = True) -> Any:
        x = layers.Conv2D(filters, size, strides, padding="same", use_bias=False)(x)
        x = layers.BatchNormalization(momentum=0.9, epsilon=1e-5)(x)
        return layers.ReLU()(x) if active else x

    inputs = keras.Input((224, 224, 3))
    x = layers.MaxPooling2D(3, 2, padding="same")(conv(inputs, 64, 7, 2))
    for stage, (filters, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3))):
        for block in range(blocks):
            strides = 2 if stage and not block else 1
            short = x if block else conv(x, 4 * filters, 1, strides, active=False)
            x = conv(conv(x, filters, 1), filters, 3, strides)
            x = layers.ReLU()(layers.Add()([conv(x, 4 * filters, 1, active=False), short]))
    x = layers.Dense(classes, dtype="float32")(layers.GlobalAveragePooling2D()(x))
    model = keras.Model(inputs, x, name="resnet50")
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True), loss)
    return model, keras.KerasTensor((None, 224, 224, 3), "float32"), keras.KerasTensor((None,), "int32")


def _block(x: Any, heads: int, *, first: bool, causal: bool = False, dropout: float = 0.0, active: str = "gelu") -> Any:
    """Return one layer of a transformer on ``(batch, length, width)``: attention, then two dense layers.

    Args:
        x: What goes in.
        heads: Heads of the attention, of width ÷ heads each.
        first: Whether what goes into each half is normalised, rather than what comes out of it, as in BERT.
        causal: Whether a token sees only those before it.
        dropout: Part that is dropped, of the attention's weights and of what each half gives.
        active: Activation between the dense layers.
    """
    from keras import layers

    def half(x: Any, work: Any) -> Any:
        out = layers.Dropout(dropout)(work(layers.LayerNormalization()(x) if first else x))
        out = layers.Add()([x, out])
        return out if first else layers.LayerNormalization()(out)

    width = x.shape[-1]
    attention = layers.MultiHeadAttention(heads, width // heads, dropout=dropout)
    x = half(x, lambda x: attention(x, x, use_causal_mask=causal))
    return half(x, lambda x: layers.Dense(width)(layers.Dense(4 * width, activation=active)(x)))


def _text_in(length: int, words: int, width: int) -> tuple[Any, Any]:
    """Return the inputs of a text of `length` tokens, and their embeddings with those of their places added."""
    import keras

    class Places(keras.layers.Layer):
        """Add a trained vector for each place."""

        def build(self, shape: Any) -> None:
            """Make the vectors."""
            self.table = self.add_weight(shape=shape[1:], name="table")

        def call(self, x: Any) -> Any:
            """Return the sum."""
            return x + self.table

    tokens = keras.Input((length,), dtype="int32")
    return tokens, Places()(keras.layers.Embedding(words, width)(tokens))


def bert(length: int, guessed: int, layer_count: int = 24, width: int = 1024) -> tuple[Any, Any, Any]:
    """Return BERT as it is pre-trained, BERT-large by default: `guessed` masked tokens of each row are predicted.

    The prediction of the next sentence (a hundred-thousandth of the work) is left out, and the words' embeddings are
    not shared with the last layer, which has 31 million weights more to update.
    """
    import keras
    from keras import layers

    words = 30_522
    tokens, x = _text_in(length, words, width)
    masked = keras.Input((guessed,), dtype="int32")
    x = layers.Dropout(0.1)(layers.LayerNormalization()(x))
    for _ in range(layer_count):
        x = _block(x, width // 64, first=False, dropout=0.1)
    x = keras.ops.take_along_axis(x, masked[..., None], axis=1)
    x = layers.LayerNormalization()(layers.Dense(width, activation="gelu")(x))
    model = keras.Model([tokens, masked], layers.Dense(words, dtype="float32")(x), name="bert")
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.AdamW(1e-4, weight_decay=0.01, clipnorm=None, global_clipnorm=1.0), loss)
    rows = [keras.KerasTensor((None, size), "int32") for size in (length, guessed)]
    return model, rows, keras.KerasTensor((None, guessed), "int32")


def vit(width: int = 384, layer_count: int = 12, heads: int = 6) -> tuple[Any, Any, Any]:
    """Return a vision transformer on patches of 16 × 16, ViT-S/16 by default, its last tokens averaged.

    The sines of the places are left out: they are not trained, and adding them is next to nothing.
    """
    import keras
    from keras import layers

    images = keras.Input((224, 224, 3))
    x = layers.Reshape((196, width))(layers.Conv2D(width, 16, 16)(images))
    for _ in range(layer_count):
        x = _block(x, heads, first=True)
    x = layers.GlobalAveragePooling1D()(layers.LayerNormalization()(x))
    x = layers.Dense(1000, dtype="float32")(layers.Dense(width, activation="tanh")(x))
    model = keras.Model(images, x, name="vit")
    loss = keras.losses.CategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.AdamW(1e-3, weight_decay=1e-4, global_clipnorm=1.0), loss)
    return model, keras.KerasTensor((None, 224, 224, 3), "float32"), keras.KerasTensor((None, 1000), "float32")


def gpt(length: int = 2048, width: int = 768, layer_count: int = 12) -> tuple[Any, Any, Any]:
    """Return a language model of GPT-2's kind with heads of 128, which predicts each next token."""
    import keras
    from keras import layers

    words = 32_768
    tokens, x = _text_in(length, words, width)
    for _ in range(layer_count):
        x = _block(x, width // 128, first=True, causal=True, active="relu")
    x = layers.Dense(words, use_bias=False)(layers.LayerNormalization()(x))
    model = keras.Model(tokens, layers.Activation("linear", dtype="float32")(x), name="gpt")
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.AdamW(3e-4, weight_decay=0.1), loss)
    return model, keras.KerasTensor((None, length), "int32"), keras.KerasTensor((None, length), "int32")


MODELS: dict[str, Any] = {
    "resnet50": resnet50,
    "bert-large-128": lambda layer_count=24: bert(128, 20, layer_count),
    "bert-large-512": lambda layer_count=24: bert(512, 76, layer_count),
    "vit-s16": vit,
    "gpt-124m": gpt,
}
"""Every model by its name, as a function that makes it and the shapes of its batch."""
