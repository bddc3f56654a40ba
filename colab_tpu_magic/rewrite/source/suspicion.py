"""Tell by its letters alone whether a text may be old, so that clean cells never load the parser."""

from __future__ import annotations

import re

_OLD = re.compile(
    r"[‘’‚‛′“”„‟″\u00a0\u2002-\u200d\u202f\u205f-\u2060\u3000\ufeff\u2212]"
    r"|COLAB_TPU_ADDR|compat\.v1|compat import v1|grpc://|contrib\b|keras_to_tpu_model|multi_gpu_model|distribute\s*="
    r"|TPUDistributionStrategy|TPUStrategy|TPUClusterResolver|_tpu_system|experimental_connect_to|experimental_run_v2"
    r"|\btrain\.\w|CrossShardOptimizer|\w_decay\(|\blr\s*=|\bdecay\s*=|\.lr\b|optimizers\.legacy|schedule_decay"
    r"|_generator\s*\(|\bworkers\s*=|\bnb_(?:epoch|worker)|use_multiprocessing|max_q(?:ueue)?_size|pickle_safe"
    r"|predict_(?:classes|proba)|sync_to_cpu|save_weights|load_weights|\bset_(?:session|learning_phase|image_dim_ordering)"
    r"|enable_(?:eager|v2|resource)|disable_(?:eager|v2)|reset_default_graph|ConfigProto|GPUOptions|variable_initialization"
    r"|\b(?:tf|tensorflow)\.(?:compat\.v1|logging|gfile|log\b|random_|truncated_normal|set_random_seed|random\.set_random|read_file"
    r"|decode_raw|parse_|FixedLen|VarLen|python_io|python\b|image\.resize_images|sparse_tensor_to|glorot|layers|losses|app\b"
    r"|estimator|Session|Interactive|placeholder|global_var|initialize_all|get_(?:default|variable)|variable_scope)"
    r"|Estimator|\bestimator\b|\.experimental\b|CuDNN|np_utils|vis_utils|data_utils|generic_utils|keras\.engine|keras\.wrappers"
    r"|keras\.layers\.[a-z]|keras\.preprocessing|keras\.experimental|tensorflow\.python|mixed_precision|distutils"
    r"|(?:pd|pandas)\.np\b|\b(?:np|numpy)\.(?:float|int|bool|object|str|complex|long|unicode|unicode_|string_|float_|complex_"
    r"|Inf|Infinity|NaN|NAN|product|cumproduct|sometrue|alltrue|row_stack|in1d|trapz)\b"
    r"|make_(?:one_shot|initializable)_iterator|batch_and_drop_remainder|get_session|learning_phase|tensorflow_backend"
    r"|steps_per_execution|\bto_(?:float|double|u?int\d+|bfloat16|complex\d+)\b|\bperiod\s*=|\.compile\([^\]]{0,200}?,\s*[\[(]"
    r"|\.compile\([^\n]*,\s*['\"][^'\"\n]*['\"]\s*,\s*['\"]"
    r"|\b(?:tf|tensorflow)\.(?:nn\.|math\.)?(?:[egs]?elu|relu6?|leaky_relu|silu|swish|sigmoid|tanh"
    r"|(?:log_)?softmax|softplus|softsign)\s*[,)\n]"
    r"|^[ \t]*print(?:[ \t]+(?:>>|[\w\[{-])|[ \t]*['\"])|\bexcept\b[^:\n#]*[\w)]\s*,\s*\w+\s*:|\bxrange\b|\braw_input\b"
    r"|(?<![\w.])(?:unicode|unichr|long)\(|\.iter(?:items|values|keys)\(|\.has_key\("
    r"|\b(?:K|backend)\.(?!(?:clear_session|epsilon|floatx|set_epsilon|set_floatx|image_data_format|set_image_data_format"
    r"|backend|get_uid|is_\w+|result_type|standardize_dtype)\b)[a-z]\w*\("
    r"|(?:history|logs)(?:\[|\.get\()\s*['\"](?:val_)?acc['\"]|monitor\s*=\s*['\"](?:val_)?acc['\"]"
    r"|(?:EarlyStopping|ReduceLROnPlateau)\(\s*['\"](?:val_)?acc['\"]|\{(?:val_)?acc[:}]"
    r"|ReduceLROnPlateau\([^)]*\bepsilon\s*=|\bimport\b[^\n]*\b[mM]erge\b"
    r"|%tensorflow_version|(?:pip|conda)\d?\s+install\b",
    re.MULTILINE,
)


def looks_old(text: str) -> bool:
    """Return whether a text may hold an old idiom; True for every one that is written with the usual names.

    A function that is handed to fit is not old: `%%tpu_fit` takes it as it is.

    Args:
        text: A cell.

    Example:
        >>> looks_old("model.fit(x, y, epochs=5)"), looks_old("opt = tf.train.AdamOptimizer(0.1)")
        (False, True)
    """
    return _OLD.search(text) is not None or _is_broken(text)


def _is_broken(text: str) -> bool:
    """Return whether a block has lost its indentation: a header, and a line no deeper below it."""
    return (
        re.search(r"^([ \t]*)(?:def|if|for|while|try|with|else|except|class)\b.*:[ \t]*\n\1\S", text, re.MULTILINE)
        is not None
    )
