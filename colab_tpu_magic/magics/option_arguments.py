"""Declare the fields of an options class as arguments of a magic."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from IPython.core.magic_arguments import argument

from ..errors import OptionError
from ..options import declared, flag_name


def _typed(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """Let argparse show our own message."""

    def value(text: str) -> Any:
        try:
            return parse(text)
        except OptionError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return value


def options_of(options_class: type) -> Callable[[Any], Any]:
    """Declare an argument for every field of an options class."""

    def decorate(method: Any) -> Any:
        for field in reversed(declared(options_class)):
            about = field.metadata
            settings: dict[str, Any] = {"help": about["help"], "dest": field.name}
            if about["action"] == "store_true":
                settings |= {"action": "store_true"}
            elif about["action"] == "?":
                # What stands behind it may be no value of it, so the options class parses.
                settings |= {"nargs": "?", "const": "auto", "metavar": about["metavar"], "default": None}
            else:
                settings |= {"type": _typed(about["parse"]), "metavar": about["metavar"], "default": None}
                if about["action"]:
                    settings["action"] = about["action"]
            method = argument(flag_name(field.name), **settings)(method)
        return method

    return decorate
