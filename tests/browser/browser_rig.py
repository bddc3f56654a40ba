"""Start JupyterLab on this very Python and drive it in headless Chromium."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = Path("/usr/bin/chromium")
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
LAB_FLAGS = [
    "--no-browser",
    "--allow-root",
    "--ip=127.0.0.1",
    "--ServerApp.port_retries=0",
    "--IdentityProvider.token=",
    "--ServerApp.password=",
    "--ServerApp.disable_check_xsrf=True",
    "--LabApp.news_url=None",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
]
SETTINGS = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True},
    # Every cell stays in the page, also those outside the window.
    "notebook-extension/tracker": {"windowingMode": "none"},
}
OUTPUT = ".jp-OutputArea-output"
START_TIMEOUT_SECONDS = 60
VIEWPORT = {"width": 1280, "height": 1000}

MISSING = [
    what
    for what, there in {
        f"Chromium ({CHROMIUM}; apt-get install --no-install-recommends chromium fonts-dejavu-core)": CHROMIUM.exists(),
        "jupyterlab": importlib.util.find_spec("jupyterlab") is not None,
        "playwright": importlib.util.find_spec("playwright") is not None,
    }.items()
    if not there
]
if MISSING:
    warnings.warn(f"THE BROWSER TESTS DO NOT RUN: missing {', '.join(MISSING)}", stacklevel=1)

in_a_browser = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"BROWSER NOT TESTED, missing: {', '.join(MISSING)}"),
]


class Lab:
    """A running JupyterLab server.

    Attributes:
        url: Its address, without a slash at the end.
        folder: Where its notebooks lie.
        settings: Where the settings of its extensions lie.
    """

    def __init__(self, url: str, folder: Path, settings: Path) -> None:
        self.url = url
        self.folder = folder
        self.settings = settings

    def set_settings(self, name: str, settings: dict[str, Any]) -> None:
        """Replace what a user has set of one of Lab's extensions; a page that is opened later follows it."""
        path = self.settings / "@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings), encoding="utf-8")

    def sessions(self, notebook: str) -> list[dict[str, Any]]:
        """Return the running sessions of a notebook."""
        with urllib.request.urlopen(f"{self.url}/api/sessions", timeout=10) as reply:
            return [one for one in json.load(reply) if one["path"] == notebook]

    def title_of(self, kernel: str) -> str:
        """Return the name of a kernel as Lab shows it."""
        with urllib.request.urlopen(f"{self.url}/api/kernelspecs", timeout=10) as reply:
            return str(json.load(reply)["kernelspecs"][kernel]["spec"]["display_name"])

    def end_kernel(self, notebook: str) -> None:
        """Shut the notebook's kernel down."""
        for one in self.sessions(notebook):
            request = urllib.request.Request(f"{self.url}/api/sessions/{one['id']}", method="DELETE")
            urllib.request.urlopen(request, timeout=30).close()
        wait_until(lambda: not self.sessions(notebook), 30, "the kernel to end")


def wait_until(is_true: Any, seconds: float, what: str) -> None:
    """Wait until a condition holds.

    Args:
        is_true: Called ten times a second.
        seconds: When to give up.
        what: Names what was waited for in the AssertionError.
    """
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline, f"waited {seconds:.0f} s for {what}"
        time.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _register(python: str, data: Path) -> None:
    spec = data / "kernels" / "python3"
    spec.mkdir(parents=True)
    argv = [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    text = json.dumps({"argv": argv, "display_name": "This Python", "language": "python"})
    (spec / "kernel.json").write_text(text, encoding="utf-8")


@contextmanager
def running_lab(folder: Path, kernel_python: str = sys.executable) -> Iterator[Lab]:
    """Start JupyterLab with settings of its own, and end it and its kernels again.

    Args:
        folder: Where the notebooks lie.
        kernel_python: The Python that runs the notebooks.

    Raises:
        AssertionError: When it does not answer within a minute; the message holds the end of its log.
    """
    home = Path(tempfile.mkdtemp(prefix="tpu-magic-lab-"))
    port = _free_port()
    lab = Lab(f"http://127.0.0.1:{port}", folder, home / "settings")
    for name, settings in SETTINGS.items():
        lab.set_settings(name, settings)
    _register(kernel_python, home / "data")
    environment = os.environ | {
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "IPYTHONDIR": str(home / "ipython"),
        # Else the kernel that a virtual environment brings comes before the one registered here.
        "JUPYTER_PREFER_ENV_PATH": "0",
    }
    environment.pop("MPLBACKEND", None)
    log = home / "lab.log"
    with log.open("w") as output:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *LAB_FLAGS, f"--port={port}", f"--ServerApp.root_dir={folder}"],
            env=environment,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        wait_until(lambda: _answers(lab, server, log), START_TIMEOUT_SECONDS, "JupyterLab to start")
        yield lab
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
        shutil.rmtree(home, ignore_errors=True)


def _answers(lab: Lab, server: subprocess.Popen[bytes], log: Path) -> bool:
    assert server.poll() is None, f"JupyterLab ended:\n{log.read_text()[-2000:]}"
    try:
        urllib.request.urlopen(f"{lab.url}/api/status", timeout=1).close()
    except OSError:
        return False
    return True


@contextmanager
def running_browser() -> Iterator[Any]:
    """Start the installed Chromium; yields a Playwright browser context."""
    from playwright.sync_api import sync_playwright

    profile = tempfile.mkdtemp(prefix="tpu-magic-chromium-")
    try:
        with sync_playwright() as playwright:
            context = playwright.chromium.launch_persistent_context(
                profile, executable_path=str(CHROMIUM), headless=True, args=CHROMIUM_FLAGS, viewport=VIEWPORT
            )
            try:
                yield context
            finally:
                context.close()
    finally:
        shutil.rmtree(profile, ignore_errors=True)


def open_notebook(context: Any, lab: Lab, notebook: str) -> Any:
    """Open a notebook in a new page and return it when its kernel is connected and idle."""
    page = context.new_page()
    page.goto(f"{lab.url}/lab/tree/{notebook}?reset", wait_until="domcontentloaded")
    page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=60_000)
    # Both signs are needed: without them the "Select Kernel" dialog may still come and block everything.
    wait_until(lambda: _is_idle(lab, notebook), 60, "the kernel to be idle")
    kernel_name = lab.title_of(lab.sessions(notebook)[0]["kernel"]["name"])
    page.wait_for_selector(f'.jp-Toolbar-kernelName:has-text("{kernel_name}")', timeout=30_000)
    page.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="idle"]', timeout=30_000)
    return page


def _is_idle(lab: Lab, notebook: str) -> bool:
    sessions = lab.sessions(notebook)
    return bool(sessions) and sessions[0]["kernel"]["execution_state"] == "idle"


def open_without_kernel(context: Any, lab: Lab, notebook: str) -> Any:
    """Open a notebook in a new page that gets no kernel."""
    page = context.new_page()
    # Lab asks for a kernel for every notebook it opens. The request fails here; Lab says so in one dialog and
    # offers other kernels in a second.
    page.route("**/api/sessions**", _refuse_new_session)
    page.goto(f"{lab.url}/lab/tree/{notebook}?reset", wait_until="domcontentloaded")
    page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=60_000)
    page.click('.jp-Dialog button:has-text("Ok")', timeout=30_000)
    page.click('.jp-Dialog button:has-text("No Kernel")', timeout=30_000)
    page.wait_for_selector('.jp-Toolbar-kernelName:has-text("No Kernel")', timeout=30_000)
    return page


def _refuse_new_session(route: Any) -> None:
    if route.request.method == "POST":
        route.abort()
    else:
        route.continue_()


def choose(page: Any, menu: str, item: str) -> None:
    """Click an item of the menu bar."""
    page.click(f'.lm-MenuBar-itemLabel:text-is("{menu}")')
    page.click(f'.lm-Menu-itemLabel:text-is("{item}")')
