"""Build the package; everything it says stands in setup.cfg."""

from setuptools import setup

setup()
