"""The version, in one place; setup.cfg and the package read it here."""

__version__ = "0.1.0"
