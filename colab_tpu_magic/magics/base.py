"""What every magic needs: read its line, show our errors as one message, show a result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics
from IPython.core.magic_arguments import parse_argstring
from IPython.display import display

from ..errors import TpuMagicError, nearest


class MagicsBase(Magics):
    """The tools of every class of magics."""

    def _parse(self, method: Any, line: str) -> Any:
        if {"--help", "-h"} & set(line.split()):
            raise UsageError(f"{method.parser.format_help()}\nType: %{method.__name__}? for the examples")
        try:
            return parse_argstring(method, line)
        except UsageError as error:
            name = method.__name__
            hint = "" if "Type:" in str(error) else f"\nType: %{name}? for the options"
            flags = [flag for flag in method.parser._option_string_actions if flag.startswith("--")]
            words = [word.split("=")[0] for word in line.split() if word.startswith("--")]
            unknown = next((word for word in words if word not in flags), None)
            if unknown is None:
                raise UsageError(f"{error}{hint}") from None
            # Not what argparse says: it may have stumbled over the value that stands behind the option.
            raise UsageError(
                f"unrecognized arguments: {unknown}\nExpected: an option that exists.\n"
                f"Type: {nearest(unknown, flags)}, or %{name}? for all"
            ) from None

    def _ours(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call the Python API; show its errors as one message."""
        __tracebackhide__ = True
        try:
            return call(*args, **kwargs)
        except TpuMagicError as error:
            raise UsageError(str(error)) from None

    def _evaluate(self, name: str, line: str = "%tpu_fit model.fit(x, y)") -> Any:
        try:
            return eval(name, self.shell.user_ns)
        except Exception as error:
            raise UsageError(
                f"{name!r} cannot be used: {error}.\n"
                "Expected: a call, or the names of a compiled model and its data that exist.\n"
                f"Type: {line}"
            ) from None

    def _show_card(self, runtime: Any) -> None:
        from ..widgets.connection import connection_card

        self._show(connection_card(runtime))

    def _show(self, bundle: dict[str, str]) -> None:
        if hasattr(self.shell, "kernel"):
            display(bundle, raw=True)
        else:
            print(bundle["text/plain"])
