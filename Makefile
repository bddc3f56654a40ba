# Two commands: `make demo` runs the quickstart, `make test` runs everything that CI runs.
# Environments are made once, and made anew when setup.cfg or the pins change.

PYTHON ?= $(shell tools/find_python.sh 11 12 13)
COLAB_PYTHON ?= $(shell tools/find_python.sh 13 || tools/find_python.sh 11 12)

DEMO := .venv-demo
TEST := .venv-test
COLAB := .venv-colab
COMPILER := .venv-compiler
MATRIX := .matrix
PINS := tests/colab-tpu-constraints.txt
# Twice quiet: errors only.
PIP := -m pip -qq --disable-pip-version-check
PACKAGE := $(shell find colab_tpu_magic -name '*.py' -o -name py.typed)
MADE_BY := setup.cfg setup.py pyproject.toml

# The two test environments are made at the same time.
MAKEFLAGS += --jobs=2

.PHONY: demo test test-matrix check format reference plans clean
.DELETE_ON_ERROR:

demo: $(DEMO)/.installed
	@$(DEMO)/bin/python tools/run_demo.py

test: check $(COLAB)/.installed $(COMPILER)/.installed
	@$(TEST)/bin/python tools/run_tests.py --colab-python $(COLAB)/bin/python --compiler-python $(COMPILER)/bin/python

# Clicks during training on each ipykernel: a small environment a version, made once (some minutes).
test-matrix:
	@test -n "$(PYTHON)" || { echo "No Python 3.11, 3.12 or 3.13 found. Expected: one on the path, or make PYTHON=..."; exit 1; }
	@$(PYTHON) tools/run_matrix.py

# What needs no test run: lint, format, types, notebooks without outputs, the reference.
check: $(TEST)/.installed
	$(TEST)/bin/ruff check .
	$(TEST)/bin/ruff format --check .
	$(TEST)/bin/mypy
	$(TEST)/bin/python tools/check_notebooks.py
	$(TEST)/bin/python tools/make_reference.py --check

format: $(TEST)/.installed
	$(TEST)/bin/ruff check --fix .
	$(TEST)/bin/ruff format .

reference: $(TEST)/.installed
	$(TEST)/bin/python tools/make_reference.py

# The plans that notebook 02 reads, asked anew: needs the TPU compiler (docs/plan.md).
plans: $(TEST)/.installed
	@$(TEST)/bin/python tools/make_plans.py

clean:
	rm -rf build $(DEMO) $(TEST) $(COLAB) $(COMPILER) $(MATRIX) *.egg-info

# The demonstration installs the package as a user would, so packaging mistakes show here.
$(DEMO)/.installed: $(DEMO)/.dependencies $(PACKAGE)
	@rm -rf build/lib build/bdist.*
	@$(DEMO)/bin/python $(PIP) install --no-deps --force-reinstall .
	@touch $@

$(DEMO)/.dependencies: $(MADE_BY)
	$(call new_venv,$(PYTHON),$(DEMO))
	@echo "Installing TensorFlow, JAX, Keras and the demo's data (a minute or two)"
	@$(DEMO)/bin/python $(PIP) install '.[demo]'
	@touch $@

# Without compiling all that TensorFlow and JAX bring: the few modules that are used are compiled when they are.
# With the oldest Keras supported in a folder beside it, for the tests marked keras_floor.
$(TEST)/.installed: $(MADE_BY)
	$(call new_venv,$(PYTHON),$(TEST))
	@echo "Installing current versions"
	@$(TEST)/bin/python $(PIP) install --no-compile --editable '.[test,browser,dev]'
	@$(TEST)/bin/python $(PIP) install --no-compile --no-deps --target $(TEST)/keras-floor keras==3.10.0
	@touch $@

# The versions of Colab's TPU image, on its Python where there is one.
$(COLAB)/.installed: $(MADE_BY) $(PINS)
	@$(COLAB_PYTHON) -c 'import sys; v = sys.version_info[:2]; v == (3, 13) or print("\n*** NO PYTHON 3.13 HERE: Colab pins are tested on Python %d.%d instead ***\n" % v)'
	$(call new_venv,$(COLAB_PYTHON),$(COLAB))
	@echo "Installing the versions of Colab's TPU image"
	@$(COLAB)/bin/python $(PIP) install --no-compile --editable '.[test]' --constraint $(PINS)
	@touch $@

# The TPU compiler with the jax that goes with it: the extra `compiler`, without this package.
$(COMPILER)/.installed: $(MADE_BY)
	$(call new_venv,$(PYTHON),$(COMPILER))
	@echo "Installing the TPU compiler (355 MB)"
	@$(COMPILER)/bin/python $(PIP) install --no-compile 'jax[tpu]==0.10.2'
	@touch $@

# $(1): the Python, $(2): the folder
define new_venv
@test -n "$(1)" || { echo "No Python 3.11, 3.12 or 3.13 found. Expected: one on the path, or make PYTHON=..."; exit 1; }
@echo "Making $(2) with $$($(1) --version)"
@rm -rf $(2)
@$(1) -m venv $(2)
endef
