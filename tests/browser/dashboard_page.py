"""The dashboard of a training cell in a JupyterLab page, read and used as a person does."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .browser_rig import OUTPUT, Lab, open_notebook

LOOK_SECONDS = 0.02
WIDGETS = f"{OUTPUT} .jupyter-widgets"


class DashboardPage:
    """A notebook page with one cell that trains.

    Args:
        page: The Playwright page.
        cell_number: Which code cell trains, from 0.
        pictures: Where screenshots go.
    """

    def __init__(self, page: Any, cell_number: int, pictures: Path) -> None:
        self.page = page
        self.cell = page.locator(".jp-CodeCell").nth(cell_number)
        self.pictures = pictures

    def button(self, text: str) -> Any:
        """Return a button by what is written on it."""
        return self.cell.locator(
            f'{WIDGETS} button:has-text("{text}"), {OUTPUT} button.jupyter-widgets:has-text("{text}")'
        ).first

    @property
    def field(self) -> Any:
        """The field with the learning rate."""
        return self.cell.get_by_role("spinbutton", name="learning rate")

    def rate(self) -> float:
        """Return the learning rate in the field."""
        return float(self.field.input_value())

    def enter_rate(self, text: str) -> None:
        """Type a learning rate and press Enter."""
        self.field.fill(text)
        self.field.press("Enter")

    def tab_order(self, start: Any, times: int) -> list[str]:
        """Return the names of what has the focus, from an element on through presses of Tab."""
        name = "node => node.labels?.[0]?.innerText || node.innerText"
        start.focus()
        names = []
        for _ in range(times + 1):
            names.append(self.page.evaluate_handle("document.activeElement").evaluate(name).strip())
            self.page.keyboard.press("Tab")
        return names

    def numbers(self) -> str:
        """Return the numbers above the chart, as a screen reader says them."""
        return str(self.cell.locator(f"{WIDGETS} [role=group][aria-label]").first.get_attribute("aria-label"))

    def place(self) -> tuple[int, int]:
        """Return the epoch and its step that the training has reached."""
        said = re.search(r"epoch ([\d,]+) .*?step ([\d,]+)", self.numbers())
        assert said, self.numbers()
        epoch, step = (int(one.replace(",", "")) for one in said.groups())
        return epoch, step

    def drawing(self) -> str:
        """Return the SVG of the live chart."""
        return str(
            self.cell.locator(f"{WIDGETS} svg[aria-label]:not(:has(animateTransform))").last.evaluate(
                "node => node.outerHTML"
            )
        )

    def printed(self, cell_number: int | None = None) -> str:
        """Return what a cell has printed, the one that trains when no other is named."""
        cell = self.cell if cell_number is None else self.page.locator(".jp-CodeCell").nth(cell_number)
        return "".join(cell.locator(f"{OUTPUT} pre").all_inner_texts())

    def wait(self, is_true: Callable[[], Any], what: str, seconds: float = 15.0) -> float:
        """Wait until a condition holds; return how many seconds it took.

        Args:
            is_true: Asked again and again.
            what: Names what was waited for in the AssertionError.
            seconds: When to give up.
        """
        began = time.monotonic()
        while not is_true():
            assert time.monotonic() - began < seconds, f"waited {seconds:.0f} s for {what}: {self.numbers()}"
            time.sleep(LOOK_SECONDS)
        return time.monotonic() - began

    def wait_for_curves(self, seconds: float = 150.0) -> None:
        """Wait until the chart has a curve."""
        words = f'{WIDGETS} svg text:has-text("last steps")'
        self.cell.locator(words).first.wait_for(state="attached", timeout=1000 * seconds)

    def picture(self, name: str) -> None:
        """Keep a screenshot with the training cell's output at the top."""
        self.cell.locator(".jp-Cell-outputWrapper").evaluate("node => node.scrollIntoView({block: 'start'})")
        self.page.mouse.move(0, 0)
        self.page.screenshot(path=self.pictures / f"{name}.png")


def choose_theme(page: Any, theme: str) -> None:
    """Choose a theme as a person does, in the settings menu.

    Args:
        page: A page of JupyterLab.
        theme: ``"Light"`` or ``"Dark"``.
    """
    page.click('.lm-MenuBar-itemLabel:text-is("Settings")')
    page.hover('.lm-Menu-itemLabel:text-is("Theme")')
    page.click(f'.lm-Menu-itemLabel:text-is("JupyterLab {theme}")')
    is_light = "true" if theme == "Light" else "false"
    page.wait_for_selector(f'body[data-jp-theme-light="{is_light}"]', state="attached", timeout=10_000)


def open_dashboard(context: Any, lab: Lab, notebook: str, cell_number: int, pictures: Path) -> DashboardPage:
    """Open a notebook and return it when its kernel is ready."""
    return DashboardPage(open_notebook(context, lab, notebook), cell_number, pictures)
