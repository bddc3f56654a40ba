"""Run the whole test suite: the plain tests, the kernels, the browser, each engine, all with Colab's versions too.

The number of virtual devices is fixed once per process, so the tests in ``tests/engines`` run
once for each engine, which ``TPU_MAGIC_ENGINE`` names. Two processes run at a time; what each
put out is printed when it ends and kept in ``build/test-logs``. The last line sums up all parts,
and the exit code is not 0 when anything failed or nothing ran.

Usage: ``python tools/run_tests.py [--parts jax-8,plain] [--colab-python PYTHON] [pytest arguments]``
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "test-logs"
# The same small models are compiled again and again; JAX keeps what it has compiled here, for all parts.
JAX_CACHE = {
    "JAX_COMPILATION_CACHE_DIR": str(ROOT / "build" / "jax-cache"),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}
ENGINES = ("tensorflow-2", "jax-8", "tensorflow-8", "jax-1", "tensorflow-1")
COLAB_ENGINES = ("tensorflow-2", "jax-8")
# A folder with the oldest Keras supported, which the Makefile puts into the environment.
KERAS_FLOOR = Path(sys.prefix) / "keras-floor"
# A Python with the pair of jax and libtpu that plans are compiled with, which the Makefile makes.
COMPILER = "TPU_MAGIC_COMPILER_PYTHON"
# The parts that ask the real TPU compiler; elsewhere such tests are skipped.
COMPILING = ("plain", "tensorflow-2", "jax-8", "kernels")
PART_TIMEOUT_SECONDS = 1500
NO_TESTS_COLLECTED = 5
# The longest first, so that both processes are busy until the end; those that are not named take about a minute.
LONGEST = (
    "tensorflow-2",
    "kernels",
    "jax-8",
    "colab-kernels",
    "browser",
    "colab-jax-8",
    "colab-tensorflow-2",
    "jax-1",
    "plain",
    "colab-plain",
)
FLOOR = ("-m", "keras_floor")
CHROMIUM = Path("/usr/bin/chromium")
QUICKSTART = "test_quickstart.py"
# Of the kernel tests, those whose subject is the same with any versions.
ANY_VERSIONS = (
    "test_benchmarks_run.py",
    "test_export.py",
    "test_feeding_lesson.py",
    "test_fit_lesson.py",
    "test_lessons.py",
)
# Of the engine tests, all but the long tables, which run with the current versions on several replicas.
NO_TABLES = ("-m", "keras_floor or not table")
# How files and datasets are read is asked on eight devices; one reads them the same way.
READING = ("test_files.py", "test_tf_data.py")


@dataclass(frozen=True)
class Part:
    """One pytest process: its name, what it runs, its Python and what it finds in its environment."""

    name: str
    arguments: tuple[str, ...]
    python: str = sys.executable
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What one part counted; one that crashed or did not end counts as one failure more."""

    part: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    remark: str = ""


def current_parts() -> list[Part]:
    """Return the parts that run with the current versions."""
    # A browser that runs the quickstart asks all that is asked of it in a kernel.
    twice = (f"--ignore=tests/kernels/{QUICKSTART}",) if CHROMIUM.exists() else ()
    parts = [Part("kernels", ("tests/kernels", *twice)), Part("browser", ("tests/browser",))]
    # One TensorFlow device has no strategy to go wrong: there, only what touches private names of Keras.
    # Trials are slow on TensorFlow and a check trains nothing: what touches private names in them runs there with the
    # oldest Keras and with Colab's.
    fewer = {
        "tensorflow-1": FLOOR,
        "tensorflow-2": without("test_trials.py", "test_check.py"),
        "jax-1": (*NO_TABLES, *without(*READING)),
    }
    parts += [engine_part(engine, "", fewer.get(engine, ())) for engine in ENGINES]
    if KERAS_FLOOR.is_dir():
        for engine in COLAB_ENGINES:
            part = engine_part(engine, f"keras-floor-{engine}", FLOOR)
            parts.append(replace(part, environment=part.environment | {"PYTHONPATH": str(KERAS_FLOOR)}))
    return [*parts, plain("plain")]


def colab_parts(python: str = sys.executable) -> list[Part]:
    """Return the parts that run with the versions of Colab's TPU image: all but the browser."""
    ignored = (f"--ignore=tests/kernels/{name}" for name in ANY_VERSIONS)
    parts = [Part("colab-kernels", ("tests/kernels", *ignored))]
    # On TensorFlow only what touches private names of Keras: the rest is the same code, and slow there.
    parts += [
        engine_part("jax-8", "colab-jax-8", NO_TABLES),
        engine_part("tensorflow-2", "colab-tensorflow-2", FLOOR),
    ]
    return [replace(part, python=python) for part in (*parts, plain("colab-plain"))]


def without(*files: str) -> tuple[str, ...]:
    """Return the arguments that leave out some files of the engine tests."""
    return tuple(f"--ignore=tests/engines/{name}" for name in files)


def plain(name: str) -> Part:
    """Return the part that runs everything that needs no engine, kernel or browser."""
    return Part(name, ("tests", *(f"--ignore=tests/{other}" for other in ("engines", "kernels", "browser"))))


def engine_part(engine: str, name: str = "", arguments: tuple[str, ...] = ()) -> Part:
    """Return the part that runs the engine tests on one engine."""
    environment = {"TPU_MAGIC_ENGINE": engine, "KERAS_BACKEND": engine.partition("-")[0]}
    return Part(name or engine, ("tests/engines", *arguments), environment=environment)


def run_part(part: Part, extra: list[str]) -> tuple[Outcome, str]:
    """Run one part to its end; return what it counted and what it put out."""
    report, log = LOGS / f"{part.name}.xml", LOGS / f"{part.name}.log"
    report.unlink(missing_ok=True)
    # Without the cache, which two processes would write at a time.
    command = [part.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--durations=5", f"--junitxml={report}"]
    unwanted = ("TPU_MAGIC_ENGINE", "KERAS_BACKEND", "XLA_FLAGS", "PYTHONPATH", COMPILER)
    environment = {key: value for key, value in os.environ.items() if key not in unwanted}
    environment |= {"TF_CPP_MIN_LOG_LEVEL": "3", **JAX_CACHE, **part.environment}
    started = time.monotonic()
    remark = ""
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, *part.arguments, *extra],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            process.wait(PART_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            remark = f"did not end in {PART_TIMEOUT_SECONDS} s"
        finally:
            end(process)
    outcome = outcome_of(part.name, process.returncode, report)
    return (
        replace(outcome, seconds=time.monotonic() - started, remark=remark or outcome.remark),
        log.read_text(encoding="utf-8", errors="replace"),
    )


def end(process: subprocess.Popen[bytes]) -> None:
    """End a pytest process with the kernels and browsers that it may have left behind."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def outcome_of(name: str, code: int, report: Path) -> Outcome:
    """Read what a part counted from its JUnit report and its exit code."""
    if code == NO_TESTS_COLLECTED:
        return Outcome(name, remark="no test is meant for this part")
    if not report.exists():
        return Outcome(name, failed=1, remark=f"ended with code {code} and no report")
    suites = list(ElementTree.parse(report).getroot().iter("testsuite"))
    total, failures, errors, skipped = (
        sum(int(suite.get(key, "0")) for suite in suites) for key in ("tests", "failures", "errors", "skipped")
    )
    failed = failures + errors
    if code != 0 and failed == 0:
        return Outcome(name, total - skipped, 1, skipped, remark=f"ended with code {code}")
    return Outcome(name, max(0, total - failed - skipped), failed, skipped)


def version_of(python: str) -> str:
    """Return the version of a Python, for example ``"3.13"``."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    return subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def wanted_parts(parser: argparse.ArgumentParser, options: argparse.Namespace) -> list[Part]:
    """Return the parts that the command line asks for."""
    parts = colab_parts() if options.colab else current_parts()
    if options.colab_python:
        # Not resolved: the link in a virtual environment is what makes it one.
        parts += colab_parts(os.path.abspath(options.colab_python))
    parts.sort(key=lambda part: LONGEST.index(part.name) if part.name in LONGEST else len(LONGEST))
    if not options.parts:
        return parts
    names = options.parts.split(",")
    unknown = sorted(set(names) - {part.name for part in parts})
    if unknown:
        parser.error(f"no part {', '.join(unknown)}; there are {', '.join(part.name for part in parts)}")
    return [part for part in parts if part.name in names]


def main(arguments: list[str]) -> int:
    """Run the parts asked for, print the sums, return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", help="names with commas between them; all of them when left out")
    parser.add_argument("--colab", action="store_true", help="run the Colab parts, and only those, with this Python")
    parser.add_argument("--colab-python", help="a Python with the versions of Colab's TPU image, for those parts")
    parser.add_argument("--compiler-python", help="a Python with jax[tpu], for the tests that ask the TPU compiler")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time (default: %(default)s)")
    options, extra = parser.parse_known_args(arguments)
    parts = wanted_parts(parser, options)
    if options.compiler_python:
        found = {COMPILER: os.path.abspath(options.compiler_python)}
        parts = [
            replace(part, environment=part.environment | found) if part.name in COMPILING else part for part in parts
        ]
    LOGS.mkdir(parents=True, exist_ok=True)
    outcomes: dict[str, Outcome] = {}
    with ThreadPoolExecutor(max(1, options.jobs)) as pool:
        running = {pool.submit(run_part, part, extra): part for part in parts}
        for future in as_completed(running):
            part = running[future]
            outcomes[part.name], output = future.result()
            settings = " ".join(f"{key}={value}" for key, value in part.environment.items())
            print(
                f"\n##### {part.name} ##### {settings} pytest {' '.join([*part.arguments, *extra])}\n{output}",
                flush=True,
            )

    print(f"\n{'part':<26}{'passed':>8}{'failed':>8}{'skipped':>9}{'seconds':>9}")
    for one in (outcomes[part.name] for part in parts):
        print(f"{one.part:<26}{one.passed:>8}{one.failed:>8}{one.skipped:>9}{one.seconds:>9.0f}  {one.remark}")
    if options.colab_python and (version := version_of(options.colab_python)) != "3.13":
        print(
            f"\n!!!!! Colab's Python 3.13 was NOT tested: none was found. Colab's versions ran on Python {version}. !!!!!\n"
        )
    passed, failed, skipped = (
        sum(getattr(one, key) for one in outcomes.values()) for key in ("passed", "failed", "skipped")
    )
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return int(failed > 0 or passed == 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
