"""Try clicks during training on many versions of ipykernel, whose undocumented names they depend on.

Makes one small environment a version under ``.matrix``, once: that ipykernel, the newest ipywidgets 8, this
package without TensorFlow and JAX. Runs the tests with real kernels in each, and prints a table. The exit code
is not 0 when a version failed.

Usage: ``python tools/run_matrix.py [--only 7.4.0,6.17.1]``
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".matrix"
# The newest patch of each minor version that is in use; 6.17.1 is Colab's.
VERSIONS = ("6.17.1", "6.29.5", "6.30.1", "6.31.0", "7.0.1", "7.1.0", "7.2.0", "7.3.0", "7.4.0")
TESTS = ("tests/kernels/test_message_pump.py", "tests/kernels/test_main_thread.py")
# What the package imports without training; the rest of what it requires is large and not touched here.
BESIDE = ("ipywidgets>=8,<9", "jupyter_client>=8", "numpy", "pytest>=8.3", "pytest-timeout>=2.3")
TIMEOUT_SECONDS = 300


@dataclass(frozen=True)
class Outcome:
    """How the tests went on one version."""

    version: str
    ok: bool
    seconds: float
    remark: str


def environment_of(version: str) -> Path:
    """Return the Python of the environment with this ipykernel, and make it where it is missing.

    Raises:
        subprocess.CalledProcessError: When pip failed.
    """
    folder = FOLDER / version
    python = folder / "bin" / "python"
    done = folder / ".installed"
    wanted = "\n".join((f"ipykernel=={version}", *BESIDE))
    if done.is_file() and done.read_text(encoding="utf-8") == wanted:
        return python
    venv.create(folder, clear=True, with_pip=True)
    pip = [str(python), "-m", "pip", "-qq", "--disable-pip-version-check", "install"]
    subprocess.run([*pip, *wanted.splitlines()], check=True)
    subprocess.run([*pip, "--no-deps", "--editable", str(ROOT)], check=True)
    done.write_text(wanted, encoding="utf-8")
    return python


def outcome_of(version: str) -> Outcome:
    """Run the tests on one version of ipykernel."""
    started = time.monotonic()
    try:
        python = environment_of(version)
        started = time.monotonic()
        run = subprocess.run(
            [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
        )
    except subprocess.CalledProcessError as error:
        return Outcome(version, False, time.monotonic() - started, f"not installed: pip ended with {error.returncode}")
    except subprocess.TimeoutExpired:
        return Outcome(version, False, time.monotonic() - started, f"did not end in {TIMEOUT_SECONDS} s")
    if run.returncode != 0:
        print(f"\n##### ipykernel {version} #####\n{run.stdout}{run.stderr}", flush=True)
    last_line = run.stdout.strip().rpartition("\n")[2]
    return Outcome(version, run.returncode == 0, time.monotonic() - started, last_line.partition(" in ")[0])


def main(arguments: list[str]) -> int:
    """Try the versions asked for, print the table, return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="versions with commas between them; all of them when left out")
    options = parser.parse_args(arguments)
    versions = options.only.split(",") if options.only else VERSIONS
    outcomes = []
    for version in versions:
        print(f"ipykernel {version} ...", file=sys.stderr, flush=True)
        outcomes.append(outcome_of(version))
    print(f"\n{'ipykernel':<12}{'result':<8}{'seconds':>8}  tests")
    for one in outcomes:
        print(f"{one.version:<12}{'pass' if one.ok else 'FAIL':<8}{one.seconds:>8.0f}  {one.remark}")
    failed = sum(not one.ok for one in outcomes)
    print(f"{len(outcomes) - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
