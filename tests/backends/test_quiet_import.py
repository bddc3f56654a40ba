"""The first import of a package in silence, whoever does it."""

import subprocess
import sys

NOISY = "import os; os.write(2, b'noise'); value = 7"
CODE = """
import sys
sys.path.insert(0, sys.argv[1])
from colab_tpu_magic.backends.quiet_import import QuietImport, import_quietly
import_quietly("noisy_package")
import_quietly("noisy_package")
print(sum(isinstance(finder, QuietImport) for finder in sys.meta_path))
import noisy_package
print(noisy_package.value, noisy_package.__spec__.name)
print(sum(isinstance(finder, QuietImport) for finder in sys.meta_path))
import_quietly("noisy_package")
print(sum(isinstance(finder, QuietImport) for finder in sys.meta_path))
import_quietly("package_that_is_not_there")
try:
    import package_that_is_not_there
except ModuleNotFoundError as error:
    print(error.name)
"""


def test_what_a_package_writes_while_it_is_imported_is_not_seen(tmp_path):
    (tmp_path / "noisy_package.py").write_text(NOISY)
    done = subprocess.run([sys.executable, "-c", CODE, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.split() == ["1", "7", "noisy_package", "0", "0", "package_that_is_not_there"]
