"""The magic that lists the magics: %tpu."""

from __future__ import annotations

from IPython.core.magic import line_magic, magics_class

from .base import MagicsBase


@magics_class
class OverviewMagics(MagicsBase):
    """Tell what there is."""

    @line_magic
    def tpu(self, line: str) -> None:
        """List all magics of colab_tpu_magic.

        Example::

            %tpu
        """
        from . import class_of, names

        rows = [(name, getattr(class_of(name), name.lstrip("%")).__doc__) for name in names()]
        width = max(len(name) for name, _ in rows)
        for name, doc in rows:
            print(f"{name:<{width}}  {summary_line(doc)}")
        print(f"\nType a question mark after a name for its help: {rows[0][0]}?")


def summary_line(doc: str | None) -> str:
    """Return the sentence that says what a magic does, from its docstring with or without its usage."""
    paragraphs = [p.strip() for p in (doc or "").split("\n\n") if p.strip()]
    told = [p for p in paragraphs if not p.lstrip().startswith(("::", "%", "positional", "optional", "options"))]
    return " ".join(told[0].split()) if told else ""
