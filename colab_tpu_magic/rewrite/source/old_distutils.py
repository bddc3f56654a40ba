"""``distutils`` left Python in 3.12: versions, ``strtobool`` and ``copy_tree`` have other homes."""

from __future__ import annotations

import libcst as cst

from .base import Rewrite
from .names import dotted, node_of

# Module and name of distutils, and where the same is today: module and name.
NEW = {
    ("distutils.version", "LooseVersion"): ("packaging.version", "Version"),
    ("distutils.version", "StrictVersion"): ("packaging.version", "Version"),
    ("distutils.spawn", "find_executable"): ("shutil", "which"),
    ("distutils.file_util", "copy_file"): ("shutil", "copy"),
    ("distutils.dir_util", "copy_tree"): ("shutil", "copytree"),
    ("distutils.dir_util", "remove_tree"): ("shutil", "rmtree"),
}


class OldDistutils(Rewrite):
    """Import the same from where it is today."""

    id = "distutils"
    title = "distutils"
    why = "distutils was taken out of Python in 3.12; this module has the same."
    source = "peps.python.org/pep-0632; docs.python.org/3/whatsnew/3.12.html"
    hints = ("distutils",)

    def leave_ImportFrom(self, original: cst.ImportFrom, updated: cst.ImportFrom) -> cst.BaseSmallStatement:
        """Rewrite one import of one name."""
        module = dotted(original.module) if original.module is not None else ""
        if not module.startswith("distutils") or isinstance(updated.names, cst.ImportStar):
            return updated
        aliases = list(updated.names)
        found = [NEW.get((module, alias.evaluated_name)) for alias in aliases]
        homes = {home[0] for home in found if home is not None}
        if None in found or len(homes) != 1:
            self.refuse(
                original, self.code(original), self.why.partition(";")[0] + ".", "Write the few lines yourself."
            )
            return updated
        names = []
        for alias, home in zip(aliases, found, strict=True):
            assert home is not None
            asname = alias.asname or cst.AsName(cst.Name(alias.evaluated_name))
            names.append(alias.with_changes(name=cst.Name(home[1]), asname=asname))
        new = updated.with_changes(module=node_of(homes.pop()), names=names)
        replaced: cst.BaseSmallStatement = self.replace(original, new)
        return replaced

    def leave_Import(self, original: cst.Import, updated: cst.Import) -> cst.BaseSmallStatement:
        """Rewrite ``import distutils.version``."""
        if [dotted(alias.name) for alias in original.names] != ["distutils.version"] or original.names[0].asname:
            return updated
        new = updated.with_changes(names=[cst.ImportAlias(node_of("packaging.version"))])
        replaced: cst.BaseSmallStatement = self.replace(original, new)
        return replaced

    def leave_Attribute(self, original: cst.Attribute, updated: cst.Attribute) -> cst.BaseExpression:
        """Rewrite ``distutils.version.LooseVersion``."""
        if dotted(original) in ("distutils.version.LooseVersion", "distutils.version.StrictVersion"):
            if self.names.get("distutils") == "distutils":
                return self.replace(original, node_of("packaging.version.Version"))
        return updated
