"""The first lines of an exported script: the backend, the devices, the imports, the distribution."""

from __future__ import annotations

import ast

from ..backends.base import CPU, GPU, SIMULATED, TPU
from ..training.recipe import Recipe
from .names import bound_by
from .reasons import comment

THREADS_PER_DEVICE = 4


def environment_text(recipe: Recipe) -> str:
    """Return what has to be set before Keras is imported."""
    lines = ["import os", "", f'os.environ["KERAS_BACKEND"] = "{recipe.backend}"']
    if recipe.backend == "jax" and recipe.kind in (SIMULATED, CPU):
        lines.append('os.environ["JAX_PLATFORMS"] = "cpu"')
        if recipe.replicas > 1:
            threads = recipe.replicas * THREADS_PER_DEVICE
            lines += [
                comment(f"{recipe.replicas} virtual devices on this machine's CPU rehearse the replicas of a TPU."),
                f'os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count={recipe.replicas}"',
                comment("Threads of XLA's CPU client: with too few, replicas that wait for each other stop."),
                f'os.environ["NPROC"] = "{threads}"',
            ]
    return "\n".join(lines)


def imports_text(imports: list[str], recipe: Recipe, helpers: str, uses_tf: bool = False) -> str:
    """Return the notebook's own imports, and what the script needs besides.

    Args:
        imports: Import statements of the notebook, in order.
        recipe: How the run was made.
        helpers: The text of the helpers.
        uses_tf: Whether a call that was rewritten uses ``tf``.
    """
    needed = [("keras", "keras"), ("np", "numpy")] if "np." in helpers else [("keras", "keras")]
    needed += [(name, name) for name in ("itertools", "threading") if f"{name}." in helpers]
    if uses_tf or recipe.backend == "tensorflow" and (recipe.replicas > 1 or "tf." in helpers):
        needed.append(("tf", "tensorflow"))
    if recipe.backend == "jax" and recipe.kind == SIMULATED and recipe.replicas > 1:
        needed.append(("jax", "jax"))
    bound = {bound_by(one) for text in imports for one in ast.parse(text).body[0].names}  # type: ignore[attr-defined]
    more = [
        f"import {module}" if name == module else f"import {module} as {name}"
        for name, module in needed
        if name not in bound
    ]
    simple = sorted({text for text in (*imports, *more) if text.startswith("import ") and "\n" not in text})
    others = list(dict.fromkeys(text for text in imports if text not in simple))
    return "\n".join([*(text for text in simple if text != "import os"), *others])


def distribution_text(recipe: Recipe) -> str:
    """Return how the replicas are made, empty on one device."""
    if recipe.replicas == 1:
        return ""
    return _jax(recipe) if recipe.backend == "jax" else _tensorflow(recipe)


def _jax(recipe: Recipe) -> str:
    lines = []
    if recipe.kind == SIMULATED:
        lines += [
            comment("One step at a time: virtual devices share the CPU."),
            'jax.config.update("jax_cpu_enable_async_dispatch", False)',
        ]
    lines += [
        comment(
            f"Model on every replica: each of the {recipe.replicas} devices holds a copy of every weight and computes "
            "its share of each batch. This has to stand before the model is made."
        ),
        "data_parallel = keras.distribution.DataParallel()",
        "keras.distribution.set_distribution(data_parallel)",
    ]
    return "\n".join(lines)


def _tensorflow(recipe: Recipe) -> str:
    lines = []
    if recipe.kind == TPU:
        lines += [
            'resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="local")',
            "tf.config.experimental_connect_to_cluster(resolver)",
            "tf.tpu.experimental.initialize_tpu_system(resolver)",
            "strategy = tf.distribute.TPUStrategy(resolver)",
        ]
    elif recipe.kind == GPU:
        lines += ["strategy = tf.distribute.MirroredStrategy()"]
    else:
        names = ", ".join(f'"CPU:{place}"' for place in range(recipe.replicas))
        lines += [
            comment(f"{recipe.replicas} virtual devices on this machine's CPU rehearse the replicas of a TPU."),
            'cpu = tf.config.list_physical_devices("CPU")[0]',
            "virtual = [tf.config.LogicalDeviceConfiguration()] * " + str(recipe.replicas),
            "tf.config.set_logical_device_configuration(cpu, virtual)",
            "strategy = tf.distribute.MirroredStrategy(",
            f"    [{names}],",
            "    cross_device_ops=tf.distribute.ReductionToOneDevice(),",
            ")",
        ]
    lines += [
        comment(
            f"Model on every replica: each of the {recipe.replicas} replicas holds a copy of every weight and computes "
            "its share of each batch. This has to stand before the model is made; it does what "
            "`with strategy.scope():` around the rest would do."
        ),
        "tf.distribute.experimental_set_strategy(strategy)",
    ]
    return "\n".join(lines)
