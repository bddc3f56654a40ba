"""Which names a statement makes, uses and may change."""

from __future__ import annotations

import ast
import builtins
import symtable
from dataclasses import dataclass

SHOWN_ONLY = {"print", "display", "len", "type", "help", "repr", "dir", "id"}
READ_ONLY = {
    "summary", "evaluate", "predict", "predict_on_batch", "test_on_batch", "get_config", "get_weights", "count_params",
    "to_json", "save", "save_weights", "export", "get_layer", "head", "describe", "info", "mean", "std", "sum", "min",
    "max", "copy", "astype", "reshape", "argmax", "items", "keys", "values", "numpy", "plot", "hist", "imshow",
    "show", "figure", "subplots", "title", "legend", "index", "count", "format", "join", "split",
}  # fmt: skip
SEEDS = {"set_random_seed", "seed", "set_seed", "manual_seed"}


@dataclass(frozen=True)
class Names:
    """What a statement does with names.

    Attributes:
        makes: Names it binds.
        uses: Names it reads that it did not make itself.
        changes: Names whose objects it may change.
        seeds: Whether it sets the state of a random generator.
        surely: Whether what it makes is made whatever happens, and not out of what was there.
        star: Whether it is ``from module import *``.
    """

    makes: frozenset[str]
    uses: frozenset[str]
    changes: frozenset[str]
    seeds: bool
    surely: bool
    star: bool = False


def names_of(
    statement: ast.stmt, functions: frozenset[str] = frozenset(), modules: frozenset[str] = frozenset()
) -> Names:
    """Return the names of a top-level statement.

    Args:
        statement: The statement.
        functions: Names of the notebook's own functions, which may change what they are given.
        modules: Names that imports bind, which no call changes.
    """
    makes: set[str] = set()
    uses: set[str] = set()
    changes: set[str] = set()
    seeds = star = False
    uses |= _read(statement)
    for node in _outside_functions(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            makes.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            makes.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            star = star or any(one.name == "*" for one in node.names)
            makes |= {bound_by(one) for one in node.names}
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            makes.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            makes.add(node.rest)
        elif isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            changes |= root_of(node)
        elif isinstance(node, ast.Call):
            alone = isinstance(statement, ast.Expr) and node is statement.value
            changes |= _changed_by(node, functions, alone) - modules
            seeds = seeds or _last_name(node.func) in SEEDS
    augmented = isinstance(statement, ast.AugAssign)
    if augmented:
        uses |= makes
    surely = not augmented and isinstance(
        statement, ast.Assign | ast.AnnAssign | ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom | ast.Expr
    )
    return Names(
        frozenset(makes),
        frozenset(uses - set(dir(builtins))),
        frozenset(changes),
        seeds,
        surely,
        star,
    )


def bound_by(alias: ast.alias) -> str:
    """Return the name that one part of an import binds."""
    return alias.asname or alias.name.split(".")[0]


def root_of(node: ast.AST) -> set[str]:
    """Return the name at the beginning of ``a.b[0].c``, as a set that may be empty."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return {node.id} if isinstance(node, ast.Name) else set()


def _changed_by(call: ast.Call, functions: frozenset[str], alone: bool) -> set[str]:
    changed: set[str] = set()
    name = _last_name(call.func)
    if isinstance(call.func, ast.Attribute) and name not in READ_ONLY:
        changed |= root_of(call.func)
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    fits = isinstance(call.func, ast.Attribute) and name == "fit"  # which reads its data
    if (alone and not fits and name not in SHOWN_ONLY | READ_ONLY) or name in functions:
        for argument in given:
            changed |= root_of(argument)
    return changed


def _last_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _read(statement: ast.stmt) -> set[str]:
    """Return the names of the notebook that a statement reads, also inside of its functions and comprehensions."""
    tree = _WithScopes().visit(ast.parse(ast.unparse(statement)))
    try:
        table = symtable.symtable(ast.unparse(tree), "cell", "exec")
    except SyntaxError:  # as of an await outside of a function, which a notebook takes
        return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
    deleted = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del)}
    found, waiting = deleted, [table]
    while waiting:
        scope = waiting.pop()
        waiting += scope.get_children()
        found |= {
            one.get_name() for one in scope.get_symbols() if one.is_referenced() and (scope is table or one.is_global())
        }
    return found


class _WithScopes(ast.NodeTransformer):
    """Make generators of comprehensions: since Python 3.12 only these have a scope of their own in a symbol table."""

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp) -> ast.AST:
        self.generic_visit(node)
        return ast.GeneratorExp(node.elt, node.generators)

    visit_SetComp = visit_ListComp

    def visit_DictComp(self, node: ast.DictComp) -> ast.AST:
        self.generic_visit(node)
        return ast.GeneratorExp(ast.Tuple([node.key, node.value], ast.Load()), node.generators)


def shared_by(statement: ast.stmt) -> set[str]:
    """Return the names of the notebook that the functions of a statement bind when they are called: ``global``."""
    return {
        name
        for function in ast.walk(statement)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Global)
        for name in node.names
    }


def _outside_functions(node: ast.AST) -> list[ast.AST]:
    found = [node]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
        return found
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            # Of what it binds, only ``:=`` is seen outside.
            found += [one.target for one in ast.walk(child) if isinstance(one, ast.NamedExpr)]
            continue
        found += _outside_functions(child)
    return found


def used_at_definition(statement: ast.stmt) -> set[str]:
    """Return the names that a ``def`` or ``class`` reads when it is run itself: decorators, defaults, bases."""
    parts: list[ast.expr] = []
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        parts = [
            *statement.decorator_list,
            *statement.args.defaults,
            *(one for one in statement.args.kw_defaults if one),
        ]
    elif isinstance(statement, ast.ClassDef):
        parts = [*statement.decorator_list, *statement.bases, *(one.value for one in statement.keywords)]
    names = {node.id for part in parts for node in ast.walk(part) if isinstance(node, ast.Name)}
    return names - set(dir(builtins))
