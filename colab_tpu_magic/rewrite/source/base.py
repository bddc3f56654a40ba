"""What every rewrite is: an id, a reason, a source, a cheap test, and a transformer of the syntax tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from .context import Context
from .names import keras_path, names_in, path_of
from .result import Refused, Rewrote

LEGACY = "colab_tpu_magic.legacy"
_DROPPED = "_dropped_by_tpu_migrate_"


class Rewrite(cst.CSTTransformer):
    """Bring one idiom up to date; one object works on one text.

    A subclass has ``leave_…`` methods that return ``self.replace(old, new)`` or ``self.drop(old)``.

    Attributes:
        id: Name in the report.
        title: A few words.
        why: The reason, at most two sentences.
        source: Where the reason comes from.
        hints: Pieces of text of which one must be there for the rewrite to be tried.
    """

    METADATA_DEPENDENCIES = (PositionProvider,)
    id: str
    title: str
    why: str
    source: str
    hints: tuple[str, ...]

    def __init__(self, module: cst.Module, context: Context) -> None:
        super().__init__()
        self.module = module
        self.context = context
        self.names = names_in(module, context.names)
        self.rewrites: list[Rewrote] = []
        self.refusals: list[Refused] = []
        self.notes: list[Rewrote] = []
        self.needed: dict[str, str] = {}
        self._comments: list[cst.Comment] = []

    @classmethod
    def suspects(cls, text: str, context: Context) -> bool:
        """Return whether the idiom may be in a text, by looking at its letters only."""
        return any(hint in text for hint in cls.hints)

    def run(self) -> cst.Module:
        """Return the module with the idiom brought up to date."""
        wrapper = MetadataWrapper(self.module, unsafe_skip_copy=True)
        changed = wrapper.visit(self)
        return add_imports(changed, self.needed, self.module) if self.needed else changed

    def path(self, node: cst.CSTNode) -> str:
        """Return the full dotted path that an expression names, or ""."""
        return path_of(node, self.names)

    def keras(self, node: cst.CSTNode) -> str:
        """Return the path below ``keras.`` that an expression names, or ""."""
        return keras_path(self.path(node)).removeprefix("keras.")

    def code(self, node: cst.CSTNode) -> str:
        """Return the code of a node."""
        return cst.Module([]).code_for_node(node).strip()

    def line(self, node: cst.CSTNode) -> int:
        """Return the line of a node of the tree that is being visited."""
        return int(self.get_metadata(PositionProvider, node).start.line)

    def need(self, path: str, statement: str = "") -> Any:
        """Return the expression of a path and have its module imported at the top.

        Args:
            path: For example ``"colab_tpu_magic.legacy.strategy"``.
            statement: The import to add; ``import`` of all but the last part when empty.
        """
        module = path.rpartition(".")[0]
        self.needed[module] = statement or f"import {module}"
        from .names import node_of

        return node_of(path)

    def replace(self, old: cst.CSTNode, new: Any, why: str = "", before: cst.CSTNode | None = None) -> Any:
        """Record that one node takes another's place and return it.

        Args:
            old: The node as it was visited, for its line and its code.
            new: What stands there now.
            why: A reason for this place; the rewrite's own when empty.
            before: What to show as the code before; ``old`` when None.
        """
        was, now = self.code(before or old), self.code(new)
        if was != now:
            self._record(old, was, now, why)
            self._comments += [one for one in comments_of(before or old) if one.value not in now]
        return new

    def drop(self, old: cst.CSTNode, why: str = "") -> Any:
        """Record that an expression statement is not needed any more; its comments stay."""
        self._record(old, self.code(old), "", why)
        return cst.Name(_DROPPED)

    def refuse(self, node: cst.CSTNode, name: str, why: str, instead: str) -> None:
        """Record that something has no form of today."""
        self.refusals.append(Refused(self.line(node), name, why, instead))

    def twice(self, node: cst.CSTNode, argument: cst.Arg, name: str) -> None:
        """Record that a call gives an argument by its old name and by the one of today; both stay."""
        code = self.code(argument).rstrip(", ")
        why = f"{name} is given too, and {keyword(argument)} is its old name: a call takes an argument once."
        self.refuse(node, code, why, f"Take {code} out, or {name}.")

    def note(self, node: cst.CSTNode, why: str = "") -> None:
        """Record what works as it stands."""
        code = self.code(node)
        self.notes.append(Rewrote(self.line(node), self.id, code, code, why or self.why, self.source))

    def _record(self, node: cst.CSTNode, before: str, after: str, why: str) -> None:
        self.rewrites.append(Rewrote(self.line(node), self.id, before, after, why or self.why, self.source))

    def leave_SimpleStatementLine(
        self, original: cst.SimpleStatementLine, updated: cst.SimpleStatementLine
    ) -> cst.BaseStatement:
        """Put comments that stood inside what was replaced above the statement."""
        if not self._comments:
            return updated
        lines = [cst.EmptyLine(comment=comment) for comment in self._comments]
        self._comments = []
        return updated.with_changes(leading_lines=[*updated.leading_lines, *lines])

    def leave_IndentedBlock(self, original: cst.IndentedBlock, updated: cst.IndentedBlock) -> cst.BaseSuite:
        """Take dropped statements out of a block."""
        body, comments = without_dropped(updated.body)
        return updated.with_changes(body=body, footer=(*comments, *updated.footer)) if body != updated.body else updated

    def leave_Module(self, original: cst.Module, updated: cst.Module) -> cst.Module:
        """Take dropped statements out of the text."""
        body, comments = without_dropped(updated.body)
        return updated.with_changes(body=body, footer=(*comments, *updated.footer)) if body != updated.body else updated


class _Comments(cst.CSTVisitor):
    def __init__(self) -> None:
        self.found: list[cst.Comment] = []

    def visit_Comment(self, node: cst.Comment) -> None:
        self.found.append(node)


def comments_of(node: cst.CSTNode) -> list[cst.Comment]:
    """Return the comments inside a node."""
    visitor = _Comments()
    node.visit(visitor)
    return visitor.found


def in_brackets(value: cst.BaseExpression) -> cst.BaseExpression:
    """Return an expression that can stand before a dot."""
    if value.lpar or isinstance(value, cst.Name | cst.Attribute | cst.Call | cst.Subscript):
        return value
    return value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def is_dropped(statement: cst.CSTNode) -> bool:
    """Return whether a statement is nothing but an expression that was dropped."""
    return isinstance(statement, cst.Expr) and getattr(statement.value, "value", None) == _DROPPED


def without_dropped(body: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return statements without the dropped ones, and the comments that had no statement left to stand on."""
    kept: list[Any] = []
    waiting: list[Any] = []
    for statement in body:
        if isinstance(statement, cst.SimpleStatementLine) and any(is_dropped(small) for small in statement.body):
            small = [one for one in statement.body if not is_dropped(one)]
            if not small:
                waiting += [line for line in statement.leading_lines if line.comment is not None]
                if statement.trailing_whitespace.comment is not None:
                    waiting.append(cst.EmptyLine(comment=statement.trailing_whitespace.comment))
                continue
            small[-1] = small[-1].with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
            statement = statement.with_changes(body=small)
        if waiting:
            statement = statement.with_changes(leading_lines=[*waiting, *statement.leading_lines])
            waiting = []
        kept.append(statement)
    return (kept, waiting) if len(kept) != len(body) or waiting else (kept if kept != list(body) else list(body), [])


def add_imports(module: cst.Module, needed: dict[str, str], before: cst.Module) -> cst.Module:
    """Return a module with imports in front of its first statement that is no docstring or future import."""
    lines = [cst.parse_statement(text) for text in needed.values() if f"{text}\n" not in f"{before.code}\n"]
    place = 0
    for place, statement in enumerate(module.body):  # noqa: B007
        if not _stays_first(statement):
            break
    body = list(module.body)
    if lines and body:
        first = body[place]
        if hasattr(first, "leading_lines"):
            # What stands above the first statement speaks of that statement; only the import comes between lines.
            lines[0] = lines[0].with_changes(leading_lines=())
    return module.with_changes(body=[*body[:place], *lines, *body[place:]])


def _stays_first(statement: cst.CSTNode) -> bool:
    if not isinstance(statement, cst.SimpleStatementLine) or not statement.body:
        return False
    first = statement.body[0]
    if isinstance(first, cst.ImportFrom) and getattr(first.module, "value", None) == "__future__":
        return True
    return isinstance(first, cst.Expr) and isinstance(first.value, cst.SimpleString | cst.ConcatenatedString)


def keyword(argument: cst.Arg) -> str:
    """Return the name of a keyword argument, "" of a positional one."""
    return argument.keyword.value if argument.keyword is not None else ""


def is_given(call: cst.Call, name: str) -> bool:
    """Return whether a call has a keyword argument of this name."""
    return any(keyword(one) == name for one in call.args)


def first_argument(call: cst.Call, *names: str) -> cst.BaseExpression | None:
    """Return the value of a call's first argument, given by position or by one of these names."""
    for argument in call.args:
        if keyword(argument) in ("", *names) and not argument.star:
            return argument.value
    return None


def by_name(call: cst.Call, positions: Sequence[str]) -> dict[str, cst.Arg] | None:
    """Return a call's arguments by name, or None where a star hides them."""
    found: dict[str, cst.Arg] = {}
    for index, argument in enumerate(call.args):
        if argument.star or (not keyword(argument) and index >= len(positions)):
            return None
        found[keyword(argument) or positions[index]] = argument
    return found


def as_keyword(argument: cst.Arg, name: str) -> cst.Arg:
    """Return an argument given by name, without spaces around the equal sign unless it had them."""
    if argument.keyword is not None:
        return argument.with_changes(keyword=cst.Name(name))
    none = cst.SimpleWhitespace("")
    equal = cst.AssignEqual(whitespace_before=none, whitespace_after=none)
    return argument.with_changes(keyword=cst.Name(name), equal=equal)


def new_argument(name: str, code: str) -> cst.Arg:
    """Return a keyword argument with a value of this code."""
    return as_keyword(cst.Arg(cst.parse_expression(code)), name)


def tidy(arguments: Sequence[cst.Arg], call: cst.Call) -> list[cst.Arg]:
    """Return arguments with commas between them, and after the last one as the call had it."""
    arguments = list(arguments)
    comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    for index, argument in enumerate(arguments[:-1]):
        if not isinstance(argument.comma, cst.Comma):
            arguments[index] = argument.with_changes(comma=comma)
    if arguments and call.args:
        last = call.args[-1]
        arguments[-1] = arguments[-1].with_changes(comma=last.comma, whitespace_after_arg=last.whitespace_after_arg)
    return arguments


Maker = Callable[[cst.Module, Context], Rewrite]
