"""Make the runtime that was chosen: silence the start-up noise, initialise devices, check them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

from ..errors import ConnectError
from ..hardware.environment import Environment, detect_environment
from ..options import ConnectOptions
from .base import CPU, GPU, SIMULATED, TPU, Engine, Runtime
from .choice import Choice, choose
from .quiet_import import import_quietly, quiet_standard_error

VIRTUAL_DEVICES = 8
THREADS_PER_DEVICE = 4
# Accepted by jax 0.10.2 and unknown to 0.7.2, where an unknown XLA flag ends the process.
COLLECTIVE_FLAGS = (
    "--xla_cpu_collective_call_warn_stuck_timeout_seconds=120",
    "--xla_cpu_collective_call_terminate_timeout_seconds=600",
    "--xla_cpu_collective_timeout_seconds=600",
)
COLLECTIVE_FLAGS_JAX = ("0.10.2",)


def make_runtime(options: ConnectOptions, environment: Environment | None = None) -> Runtime:
    """Return a runtime on what is here.

    Args:
        options: What was asked for.
        environment: What is here; detected when None.

    Raises:
        ConnectError: When it cannot be had, with the line to type next.
    """
    environment = environment or detect_environment()
    choice = choose(environment, options)
    if not options.verbose:
        silence()
        import_quietly("tensorflow")
    os.environ["KERAS_BACKEND"] = choice.backend
    make = _jax_engine if choice.backend == "jax" else _tensorflow_engine
    engine = make(choice, environment, options)
    return Runtime(
        backend=choice.backend,
        kind=choice.kind,
        replicas=engine.replicas,
        slice=choice.slice or _found_slice(choice, engine),
        environment=replace(environment, keras_backend=choice.backend),
        engine=engine,
        warnings=choice.warnings,
    )


def silence() -> None:
    """Keep the start-up messages of TensorFlow, JAX and libtpu out of the notebook.

    Only their documented switches, and only where the user has not set them.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("TPU_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("TPU_STDERR_LOG_LEVEL", "3")
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")


def _jax_engine(choice: Choice, environment: Environment, options: ConnectOptions) -> Engine:
    virtual = choice.kind in (SIMULATED, CPU)
    if virtual and "jax" not in sys.modules and environment.packages.get("jax") in COLLECTIVE_FLAGS_JAX:
        os.environ["XLA_FLAGS"] = " ".join([os.environ.get("XLA_FLAGS", ""), *COLLECTIVE_FLAGS]).strip()
    import jax

    if virtual:
        devices = _virtual_jax_devices(jax, choice.replicas or 1, options)
    else:
        try:
            devices = jax.devices(choice.kind)
        except RuntimeError as error:
            raise ConnectError(
                f"JAX cannot reach the {choice.kind.upper()}: {str(error).splitlines()[0]}",
                expected=f"a free {choice.kind.upper()}.",
                type_next="%tpu_connect --restart, or %tpu_connect --simulate v2-8 to rehearse without it",
            ) from None
    from .jax import JaxEngine

    return JaxEngine(list(devices))


def _virtual_jax_devices(jax: Any, replicas: int, options: ConnectOptions) -> list[Any]:
    """Return virtual CPU devices; eight at least, so that a later ``--simulate v2-8`` needs no restart."""
    many = max(replicas, VIRTUAL_DEVICES)
    try:
        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_num_cpu_devices", many)
        jax.config.update("jax_cpu_enable_async_dispatch", False)
    except RuntimeError:
        pass  # JAX has its devices already: see below whether they are enough.
    with _thread_pool(many * THREADS_PER_DEVICE):
        devices = jax.devices("cpu")
    if len(devices) < replicas:
        raise ConnectError(
            f"JAX was started with {len(devices)} CPU device{'s' if len(devices) != 1 else ''} and cannot get more in this process.",
            expected=f"{replicas} virtual devices, made before JAX is first used.",
            type_next=again(options),
        )
    return list(devices[:replicas])


def again(options: ConnectOptions) -> str:
    """Return the line that restarts and asks for the same."""
    backend = f" --backend {options.backend}" if options.backend != "auto" else ""
    simulate = f" --simulate {options.simulate}" if options.simulate is not None else ""
    return f"%tpu_connect --restart{backend}{simulate}"


@contextmanager
def _thread_pool(threads: int) -> Iterator[None]:
    """Let XLA's CPU client start with this many threads; it reads NPROC when it is made.

    A pool of as many threads as devices deadlocks as soon as a convolution wants threads of
    its own while replicas hold theirs in an all-reduce (3 of 3 runs on two cores with jax
    0.10.2, November 2026; with four threads a device, none).
    """
    before = os.environ.get("NPROC")
    os.environ["NPROC"] = str(max(threads, os.cpu_count() or 1))
    try:
        yield
    finally:
        if before is None:
            del os.environ["NPROC"]
        else:
            os.environ["NPROC"] = before


def _tensorflow_engine(choice: Choice, environment: Environment, options: ConnectOptions) -> Engine:
    with nullcontext() if options.verbose else quiet_standard_error():
        import tensorflow as tf
    if not options.verbose:
        tf.get_logger().setLevel("ERROR")
    from .tensorflow import TensorFlowEngine

    replicas = choice.replicas or 1
    if choice.kind in (SIMULATED, CPU):
        names = _virtual_tensorflow_devices(tf, replicas, options)
        return TensorFlowEngine(_mirrored(tf, names) if replicas > 1 else None)
    if choice.kind == GPU:
        gpus = tf.config.list_logical_devices("GPU")
        if not gpus:
            raise ConnectError(
                f"TensorFlow cannot use {', '.join(environment.gpus) or 'the GPU'}: it finds no GPU device.",
                expected="a tensorflow with the CUDA libraries of its version, or the CPU.",
                type_next='%tpu_connect --restart --simulate v2-8, or %pip install "tensorflow[and-cuda]" and restart',
            )
        kind = environment.gpus[0] if environment.gpus else "GPU"
        return TensorFlowEngine(_mirrored(tf, [gpu.name for gpu in gpus]) if len(gpus) > 1 else None, kind)
    from .tpu_strategy import make_tpu_strategy

    return TensorFlowEngine(make_tpu_strategy(tf), "TPU")


def _mirrored(tf: Any, names: list[str]) -> Any:
    return tf.distribute.MirroredStrategy(names, cross_device_ops=tf.distribute.ReductionToOneDevice())


def _virtual_tensorflow_devices(tf: Any, replicas: int, options: ConnectOptions) -> list[str]:
    cpu = tf.config.list_physical_devices("CPU")[0]
    try:
        many = max(replicas, VIRTUAL_DEVICES)
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * many)
    except RuntimeError:
        pass  # TensorFlow has its devices already: see below whether they are enough.
    found = tf.config.list_logical_devices("CPU")
    if len(found) < replicas:
        raise ConnectError(
            f"TensorFlow was started with {len(found)} CPU device{'s' if len(found) != 1 else ''} and cannot get more in this process.",
            expected=f"{replicas} virtual devices, made before TensorFlow is first used.",
            type_next=again(options),
        )
    return [device.name for device in found[:replicas]]


def _found_slice(choice: Choice, engine: Engine) -> Any:
    if choice.kind != TPU:
        return None
    from ..hardware.chips import chip_for_device_kind
    from ..hardware.slices import slice_for

    chip = chip_for_device_kind(engine.device_kind)
    return slice_for(chip, engine.replicas) if chip is not None else None
