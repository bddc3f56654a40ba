"""Usage against a recorded server: a real gRPC server on loopback that answers as libtpu does, read by the real client.

The answers have the form that tpu-info's own reader expects of libtpu, one gauge a device, whole numbers for memory and
a double for the duty cycle; the figures are made up.
"""

import socket
import sys
import threading
import time
from concurrent import futures
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from colab_tpu_magic.hardware import usage
from colab_tpu_magic.hardware.usage import DUTY_CYCLE, HBM_TOTAL, HBM_USED, Usage, UsageReader, metrics_address

GIB = 2**30
WAIT_SECONDS = 10
# A v5e-8 in the middle of a training step: chip 3 is the fullest.
V5E_8 = {
    HBM_USED: [3 * GIB, 3 * GIB, 3 * GIB, 4 * GIB, 3 * GIB, 3 * GIB, 3 * GIB, 3 * GIB],
    HBM_TOTAL: [16 * GIB] * 8,
    DUTY_CYCLE: [90.0, 90.0, 90.0, 98.0, 90.0, 90.0, 90.0, 90.0],
}
# A v2-8: eight cores tell their memory, four chips their duty cycle.
V2_8 = {HBM_USED: [GIB] * 7 + [2 * GIB], HBM_TOTAL: [8 * GIB] * 8, DUTY_CYCLE: [10.0, 20.0, 30.0, 40.0]}


@contextmanager
def recorded_server(answers, seconds=0.0):
    """Serve the answers, by metric name, as libtpu does; yield the address and the list of the questions so far."""
    grpc = pytest.importorskip("grpc")
    messages = pytest.importorskip("tpu_info.proto.tpu_metric_service_pb2")
    service = pytest.importorskip("tpu_info.proto.tpu_metric_service_pb2_grpc")
    questions = []

    class Recorded(service.RuntimeMetricServiceServicer):
        def GetRuntimeMetric(self, request, context):
            questions.append(request.metric_name)
            time.sleep(seconds)
            if request.metric_name not in answers:
                context.abort(grpc.StatusCode.NOT_FOUND, f"no metric {request.metric_name}")
            metric = messages.TPUMetric(name=request.metric_name)
            for device, value in enumerate(answers[request.metric_name]):
                one = metric.metrics.add()
                one.attribute.key = "device-id"
                one.attribute.value.int_attr = device
                if isinstance(value, float):
                    one.gauge.as_double = value
                else:
                    one.gauge.as_int = value
            return messages.MetricResponse(metric=metric)

    server = grpc.server(futures.ThreadPoolExecutor(max_workers=2))
    service.add_RuntimeMetricServiceServicer_to_server(Recorded(), server)
    port = server.add_secure_port("localhost:0", grpc.local_server_credentials())
    server.start()
    try:
        yield f"localhost:{port}", questions
    finally:
        server.stop(grace=None).wait()


@contextmanager
def reader_of(address, **options):
    reader = UsageReader(on_tpu=True, address=address, **({"interval_seconds": 0.02} | options))
    try:
        yield reader
    finally:
        reader.close()
        reader._thread.join(WAIT_SECONDS)
        assert not reader.reading


def wait_until(true):
    end = time.monotonic() + WAIT_SECONDS
    while not true():
        assert time.monotonic() < end, "it did not come true in time"
        time.sleep(0.01)


def test_the_fullest_chip_and_the_mean_duty_cycle_are_read():
    with recorded_server(V5E_8) as (address, _), reader_of(address) as reader:
        wait_until(lambda: reader.latest is not None)
        assert reader.latest == Usage(4 * GIB, 16 * GIB, 91.0)


def test_cores_that_share_a_chip_need_no_duty_cycle_of_their_own():
    with recorded_server(V2_8) as (address, _), reader_of(address) as reader:
        wait_until(lambda: reader.latest is not None)
        assert reader.latest == Usage(2 * GIB, 8 * GIB, 25.0)


def test_the_recorded_server_answers_in_the_form_that_the_packages_own_function_reads():
    metrics = pytest.importorskip("tpu_info.metrics")
    device = pytest.importorskip("tpu_info.device")
    with recorded_server(V5E_8) as (address, questions):
        chips = metrics.get_chip_usage(device.TpuChip.V5E, addr=address)
    assert [(chip.device_id, chip.memory_usage, chip.total_memory, chip.duty_cycle_pct) for chip in chips] == [
        (number, *figures) for number, figures in enumerate(zip(*V5E_8.values()))
    ]
    assert sorted(questions) == sorted([HBM_USED, HBM_TOTAL, DUTY_CYCLE])


def test_the_newest_reading_is_kept():
    answers = {HBM_USED: [GIB], HBM_TOTAL: [16 * GIB], DUTY_CYCLE: [50.0]}
    with recorded_server(answers) as (address, _), reader_of(address) as reader:
        wait_until(lambda: reader.latest == Usage(GIB, 16 * GIB, 50.0))
        answers[HBM_USED] = [5 * GIB]
        wait_until(lambda: reader.latest == Usage(5 * GIB, 16 * GIB, 50.0))


def test_a_libtpu_that_tells_no_duty_cycle_still_tells_its_memory():
    with recorded_server({HBM_USED: [GIB], HBM_TOTAL: [16 * GIB]}) as (address, _), reader_of(address) as reader:
        wait_until(lambda: reader.latest is not None)
        assert reader.latest == Usage(GIB, 16 * GIB, None)


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {HBM_USED: [], HBM_TOTAL: [], DUTY_CYCLE: []},
        {HBM_USED: [GIB], HBM_TOTAL: [0], DUTY_CYCLE: [50.0]},
        {HBM_USED: [], HBM_TOTAL: [16 * GIB], DUTY_CYCLE: [50.0]},
    ],
    ids=["no metric", "no device", "no memory at all", "no use"],
)
def test_an_odd_answer_is_no_reading_and_ends_the_thread(odd, recwarn, capfd):
    with recorded_server(odd) as (address, questions), reader_of(address, interval_seconds=0.001) as reader:
        wait_until(lambda: not reader.reading)
        assert reader.latest is None
        assert questions.count(HBM_USED) == usage.MOST_FAILURES
    assert not recwarn.list
    assert capfd.readouterr() == ("", "")


def test_a_duty_cycle_beyond_a_hundred_percent_is_left_out():
    answers = {HBM_USED: [GIB] * 2, HBM_TOTAL: [16 * GIB] * 2, DUTY_CYCLE: [400.0, 60.0]}
    with recorded_server(answers) as (address, _), reader_of(address) as reader:
        wait_until(lambda: reader.latest is not None)
        assert reader.latest == Usage(GIB, 16 * GIB, 60.0)


def test_without_a_server_the_thread_ends_and_nothing_is_said(recwarn, capfd):
    pytest.importorskip("tpu_info")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with reader_of(f"localhost:{port}", interval_seconds=0.001) as reader:
        wait_until(lambda: not reader.reading)
        assert reader.latest is None
    assert not recwarn.list
    assert capfd.readouterr() == ("", "")


def test_a_server_that_does_not_answer_is_given_up_in_time():
    pytest.importorskip("tpu_info")
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        start = time.monotonic()
        address = f"localhost:{silent.getsockname()[1]}"
        with reader_of(address, interval_seconds=0.001, timeout_seconds=0.3) as reader:
            wait_until(lambda: not reader.reading)
        assert reader.latest is None
        assert time.monotonic() - start < 5


def test_a_slow_server_does_not_keep_the_caller():
    with recorded_server(V5E_8, seconds=0.3) as (address, questions):
        start = time.monotonic()
        reader = UsageReader(on_tpu=True, address=address)
        reader.close()
        assert time.monotonic() - start < 0.2
        reader._thread.join(WAIT_SECONDS)
        assert not reader.reading


def test_a_server_that_went_away_leaves_no_old_figure():
    with recorded_server(V5E_8) as (address, _):
        reader = UsageReader(on_tpu=True, address=address, interval_seconds=0.01)
        wait_until(lambda: reader.latest is not None)
    wait_until(lambda: not reader.reading)
    assert reader.latest is None


def test_closing_keeps_the_last_reading():
    with recorded_server(V5E_8) as (address, _), reader_of(address) as reader:
        wait_until(lambda: reader.latest is not None)
    assert reader.latest == Usage(4 * GIB, 16 * GIB, 91.0)


def test_the_thread_is_a_daemon_and_not_the_callers():
    with recorded_server(V5E_8) as (address, _), reader_of(address) as reader:
        assert reader._thread.daemon
        assert reader._thread is not threading.current_thread()


def test_without_a_tpu_no_thread_starts(monkeypatch):
    monkeypatch.setattr(usage, "find_spec", lambda name: SimpleNamespace(name=name))
    reader = UsageReader(on_tpu=False)
    assert (reader.reading, reader.latest) == (False, None)
    reader.close()


def test_without_the_package_no_thread_starts(monkeypatch):
    monkeypatch.setattr(usage, "find_spec", lambda name: None)
    reader = UsageReader(on_tpu=True)
    assert (reader.reading, reader.latest) == (False, None)
    reader.close()


def test_a_package_of_another_form_is_as_good_as_none(monkeypatch, recwarn):
    monkeypatch.setattr(usage, "find_spec", lambda name: SimpleNamespace(name=name))
    monkeypatch.setitem(sys.modules, "tpu_info.proto", SimpleNamespace())
    reader = UsageReader(on_tpu=True)
    wait_until(lambda: not reader.reading)
    assert reader.latest is None
    assert not recwarn.list


@pytest.mark.parametrize(
    ("ports", "address"),
    [
        (None, "localhost:8431"),
        ("", "localhost:8431"),
        ("8500", "localhost:8500"),
        ("8431,8432,8433,8434", "localhost:8431"),
        ("elsewhere:80", "localhost:8431"),
    ],
)
def test_the_address_is_always_on_loopback(ports, address):
    assert metrics_address({} if ports is None else {"TPU_RUNTIME_METRICS_PORTS": ports}) == address
