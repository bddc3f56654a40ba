"""What the accelerator says of its memory and its work while it trains, read from libtpu's metrics.

libtpu serves its metrics on this machine's loopback, and the tpu-info package knows their form. Only that
package's messages and stub are used, which are the same from tpu-info 0.2.0 to 0.14.2 (November 2026): its own
``get_chip_usage`` waits without a time-out, leaves its channel open and wants to be told the chip.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

INTERVAL_SECONDS = 2.0
TIMEOUT_SECONDS = 1.0
# The wait doubles after each: a minute, in which libtpu may have its first program still to come.
MOST_FAILURES = 5
DEFAULT_PORT = "8431"
PORTS_VARIABLE = "TPU_RUNTIME_METRICS_PORTS"

HBM_USED = "tpu.runtime.hbm.memory.usage.bytes"
HBM_TOTAL = "tpu.runtime.hbm.memory.total.bytes"
DUTY_CYCLE = "tpu.runtime.tensorcore.dutycycle.percent"
QUESTIONS = 3


@dataclass(frozen=True)
class Usage:
    """One reading of all chips.

    Attributes:
        hbm_used_bytes: HBM in use on the fullest chip.
        hbm_total_bytes: HBM of that chip.
        tensorcore_percent: Mean share of the time that the TensorCores worked, 0 to 100; None when not told.
    """

    hbm_used_bytes: int
    hbm_total_bytes: int
    tensorcore_percent: float | None = None


class UsageReader:
    """Keep the newest usage of a TPU, read in a thread of its own.

    Where there is nothing to read, because tpu-info is not installed, no server answers or its answer makes no
    sense, `latest` is None, and nothing is said about it.

    Args:
        on_tpu: Whether the runtime is a TPU; nothing is read otherwise.
        interval_seconds: Time between two readings.
        timeout_seconds: Time after which a reading, all its questions together, is given up.
        address: Where libtpu serves; its usual place on this machine when empty.

    Attributes:
        latest: The newest reading, or None.

    Example:
        >>> reader = UsageReader(on_tpu=False)
        >>> reader.latest is None, reader.reading
        (True, False)
        >>> reader.close()
    """

    def __init__(
        self,
        on_tpu: bool,
        interval_seconds: float = INTERVAL_SECONDS,
        timeout_seconds: float = TIMEOUT_SECONDS,
        address: str = "",
    ) -> None:
        self.latest: Usage | None = None
        self.interval_seconds = interval_seconds
        self.timeout_seconds = timeout_seconds
        self.address = address or metrics_address()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        if on_tpu and find_spec("tpu_info") is not None:
            self._thread = threading.Thread(target=self._run, name="tpu-usage", daemon=True)
            self._thread.start()

    @property
    def reading(self) -> bool:
        """Whether the thread still reads."""
        return self._thread is not None and self._thread.is_alive()

    def close(self) -> None:
        """End the thread, without waiting for it; `latest` keeps what was read last."""
        self._closed.set()

    def _run(self) -> None:
        # Whatever another version of the packages does: usage is an extra, and must end quietly.
        with suppress(Exception):
            self._read_on()

    def _read_on(self) -> None:
        import grpc
        from tpu_info.proto import tpu_metric_service_pb2, tpu_metric_service_pb2_grpc

        # These credentials reach this machine alone; a proxy of the environment would be elsewhere.
        credentials, no_proxy = grpc.local_channel_credentials(), (("grpc.enable_http_proxy", 0),)
        with grpc.secure_channel(self.address, credentials, options=no_proxy) as channel:
            get_metric = tpu_metric_service_pb2_grpc.RuntimeMetricServiceStub(channel).GetRuntimeMetric

            def ask(name: str) -> dict[int, float]:
                request = tpu_metric_service_pb2.MetricRequest(metric_name=name)
                return _gauges(get_metric(request, timeout=self.timeout_seconds / QUESTIONS))

            failures = 0
            while failures < MOST_FAILURES and not self._closed.is_set():
                try:
                    self.latest = _read(ask)
                    failures = 0
                except Exception:
                    failures += 1
                self._closed.wait(self.interval_seconds * 2**failures)
        if failures == MOST_FAILURES:
            self.latest = None  # what was true minutes ago is no news


def metrics_address(environ: Mapping[str, str] | None = None) -> str:
    """Return where libtpu serves its metrics on this machine: the first port that it was told, or its default.

    Args:
        environ: Environment variables; those of this process when None.

    Example:
        >>> metrics_address({"TPU_RUNTIME_METRICS_PORTS": "8500,8501"}), metrics_address({})
        ('localhost:8500', 'localhost:8431')
    """
    environ = os.environ if environ is None else environ
    port = environ.get(PORTS_VARIABLE, "").split(",")[0].strip()
    return f"localhost:{port if port.isdecimal() else DEFAULT_PORT}"


def _read(ask: Callable[[str], dict[int, float]]) -> Usage:
    """Return one reading, or raise what kept it from being one.

    TPU v2 and v3 tell memory per core and the duty cycle per chip, later chips both per chip, so the two are never
    matched: the fullest memory stands beside the mean duty cycle.
    """
    used, total = ask(HBM_USED), ask(HBM_TOTAL)
    share = {device: used[device] / size for device, size in total.items() if size > 0 and device in used}
    fullest = max(share, key=lambda device: share[device])
    duties: list[float] = []
    with suppress(Exception):  # an older libtpu does not tell it
        duties = [duty for duty in ask(DUTY_CYCLE).values() if 0 <= duty <= 100]
    return Usage(
        hbm_used_bytes=int(used[fullest]),
        hbm_total_bytes=int(total[fullest]),
        tensorcore_percent=sum(duties) / len(duties) if duties else None,
    )


def _gauges(response: Any) -> dict[int, float]:
    """Return the value of each device in libtpu's answer, whichever number it is written as."""
    return {
        metric.attribute.value.int_attr: metric.gauge.as_int or metric.gauge.as_double
        for metric in response.metric.metrics
    }
