"""An exported run as sections, and these as one script."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Section:
    """A part of the script, and a cell of the notebook.

    Attributes:
        title: A few words.
        words: What to know about it, for the notebook's text.
        code: Its code.
        heading: The comment that stands above it in a script, empty for none.
    """

    title: str
    words: str
    code: str
    heading: str = ""


@dataclass(frozen=True)
class Document:
    """A run as plain Keras.

    Attributes:
        title: One line.
        words: What it is and how close it comes, sentences.
        notes: What could not be written out, sentences.
        sections: The code.
        number: Of the run.
    """

    title: str
    words: tuple[str, ...]
    notes: tuple[str, ...]
    sections: tuple[Section, ...]
    number: int = 0

    def script(self) -> str:
        """Return it as the text of a Python file."""
        import textwrap

        told = ["\n".join(textwrap.wrap(text, 96)) for text in (*self.words, *self.notes)]
        head = '"""' + "\n\n".join([self.title, *told]).replace("\\", "/").replace('"""', "'''")
        parts = [head + ('\n"""' if told else '"""')]
        for section in self.sections:
            if section.code.strip():
                heading = f"# {section.heading}\n" if section.heading else ""
                parts.append(heading + section.code.strip("\n"))
        return "\n\n".join(parts[:2]) + "".join(f"\n\n\n{part}" for part in parts[2:]) + "\n"
