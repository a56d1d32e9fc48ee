# On a machine with Python 3.11+ and make, `make test` installs what it needs and runs the suite.
PYTHON ?= python3
BIN := .venv/bin
# A process a core; much of a test's time is compiling on one of them.
PYTEST := -m pytest --numprocesses auto --maxprocesses 8 --dist worksteal

# Some images have it set: each of hundreds of processes would compile all modules that it imports.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: test check parity tpu slow notebooks docs docs-with-notebooks demo pictures hashes clean
.DELETE_ON_ERROR:

test: .venv/installed
	$(BIN)/python $(PYTEST)

check: .venv/installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyrefly check
	$(BIN)/lint-imports
	$(BIN)/python .ci/shape.py --limits
	$(BIN)/deptry .

# Against PyTorch and the newest transformers; whole sizes and real weights by XLA's own settings, as
# large numbers elsewhere. Where all is tiny, XLA's optimising takes most of the time.
parity: .venv-parity/installed
	.venv-parity/bin/luke-jax get english
	.venv-parity/bin/python $(PYTEST) -m "parity and not slow"
	XLA_FLAGS= .venv-parity/bin/python $(PYTEST) -m "parity and slow"

# Compiles for TPUs, which need libtpu, and measures on real files that lie beside the repository.
tpu: .venv-parity/installed
	XLA_FLAGS= .venv-parity/bin/python $(PYTEST) -m "(tpu_aot or real_data) and not parity"

# What takes long, and pages in a browser; SLOW= the files and folders, if not all of them.
slow: .venv-parity/installed
	.venv-parity/bin/luke-jax get english
	.venv-parity/bin/python $(PYTEST) -m "(slow or browser) and not (notebook or parity or tpu_aot or real_data)" $(SLOW)

notebooks: .venv-parity/installed
	XLA_FLAGS= .venv-parity/bin/python $(PYTEST) -m notebook

# The site of this checkout and of the last tag of each version; every link inside has to lead
# somewhere. VERSIONS="latest=. 0.1=FOLDER" are built instead of the tags.
docs: .venv-docs/installed
	JAX_PLATFORMS=cpu .venv-docs/bin/python docs/versions.py $(VERSIONS)

# With the pictures and numbers of the notebooks, which run whole: some twelve minutes of a core, and none where
# their cells are as before.
docs-with-notebooks: .venv-docs/installed
	.venv-docs/bin/python -m pip install --quiet --no-compile --constraint constraints.txt \
	  --editable '.[docs,notebooks,parity,serve]'
	NOTEBOOKS=cache $(MAKE) docs

# Reads and learns English, and pretrains a tiny LUKE; the same again goes on where it was.
demo: .venv/installed
	$(BIN)/luke-jax demo

# Those of the README; needs chromium.
pictures: .venv-parity/installed
	.venv-parity/bin/luke-jax get english
	.venv-parity/bin/python docs/make_pictures.py

# What the container installs, with the hash of every file: the versions of constraints.txt, and the
# newest setuptools, which builds luke_jax there.
hashes:
	test -e .venv-hashes || $(PYTHON) -m venv .venv-hashes
	.venv-hashes/bin/python -m pip install --quiet --upgrade uv
	echo setuptools | .venv-hashes/bin/uv pip compile pyproject.toml - --extra serve --universal \
	  --python-version 3.11 --constraint constraints.txt --generate-hashes --no-annotate --upgrade \
	  --custom-compile-command "make hashes" --output-file constraints-hashed.txt > .venv-hashes/log

# Without --no-compile, half the time goes into bytecode of modules that nothing imports.
.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --editable '.[dev]'
	touch $@

.venv-parity/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-parity
	.venv-parity/bin/python -m pip install --quiet --no-compile --constraint constraints.txt \
	  --editable '.[browser,dev,notebooks,parity,spacy,tpu,zh,zstd]' datasets
	# It asks for an older transformers, and works with this one.
	.venv-parity/bin/python -m pip install --quiet --no-compile --no-deps gliner==0.2.29
	touch $@

.venv-docs/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python -m pip install --quiet --no-compile --constraint constraints.txt \
	  --editable '.[docs,serve]'
	touch $@

clean:
	rm -rf .cache docs/_build .venv .venv-* build dist *.egg-info
