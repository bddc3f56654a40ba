"""A document as a Jupyter notebook."""

from __future__ import annotations

import json
from typing import Any

from .document import Document

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def notebook_of(document: Document) -> str:
    """Return the notebook's JSON, format 4.5: one cell a section, with its reasons above it.

    Example:
        >>> json.loads(notebook_of(Document("A run.", (), (), ())))["nbformat"]
        4
    """
    words = "\n\n".join([f"# {document.title}", *document.words, *(f"*{note}*" for note in document.notes)])
    cells = [_markdown(words)]
    for section in document.sections:
        if section.code.strip():
            cells += [_markdown(f"## {section.title}\n\n{section.words}"), _code(section.code.strip("\n"))]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    notebook = {
        "cells": cells,
        "metadata": {"kernelspec": KERNEL, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _markdown(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": text.splitlines(keepends=True)}


def _code(text: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": text.splitlines(keepends=True),
    }
