# For users: `make quickstart`. For developers: `make test lint`. Every target sets up .venv by itself.
# A target per command takes variables: make classify TASK=mrpc DATA=path/to/data MODEL=path/to/bert_model.ckpt

PYTHON ?=
VENV ?= .venv
BIN = $(VENV)/bin

TASK ?= cola
DATA ?= data
MODEL ?=
FLAGS ?=
TEXT ?= data/pretraining/corpus.txt
EXPORT ?= bert_output/serving/1
TAGS ?= data/tagging
SQUAD ?= data/squad
TEXTS ?= data/pretraining/corpus.txt
FEATURES ?= bert_output/features/features.jsonl
CONFIG ?= data/pretraining/bert_config.json
DEVICE ?= gpu
TAG ?=
TESTS ?= tests
MARKS ?= not slow
PEER_PYTHON ?= $(BIN)/python
PRETRAINED ?= bert_output/pretrained
PRETRAIN_FLAGS ?= --max_seq_length=64 --max_predictions_per_seq=10 --learning_rate=1e-3 --num_train_steps=3000 \
  --num_warmup_steps=300

# make builtin-model: the text (names or patterns with commas between; one that is named twice counts twice), that of the phase
# in which the rate falls, text to evaluate on (without it, a share of the first text is held out), the steps at the constant
# rate and those of its fall, how many of the last checkpoints are averaged, and where it works and what it writes.
BUILTIN_TEXT ?=
BUILTIN_FALL_TEXT ?= $(BUILTIN_TEXT)
BUILTIN_EVAL ?=
BUILTIN_STEPS ?= 7500
BUILTIN_WARMUP_STEPS ?= 1000
BUILTIN_FALL_STEPS ?= 7000
BUILTIN_FALL_WARMUP_STEPS ?= 100
BUILTIN_AVERAGE ?= 4
BUILTIN_VOCAB_SIZE ?= 10000
BUILTIN_FLAGS ?=
BUILTIN_WORK ?= bert_output/builtin
BUILTIN = bert_cli/builtin/pretrained
BUILTIN_RECIPE = "--vocab_file=$(BUILTIN_WORK)/vocab.txt" "--bert_config_file=$(BUILTIN)/bert_config.json" --do_train --do_eval \
  $(if $(BUILTIN_EVAL),"--eval_file=$(BUILTIN_EVAL)",--eval_share=0.005) --no_nsp --max_seq_length=64 --max_predictions_per_seq=13 \
  --masked_lm_prob=0.2 --train_batch_size=64 --learning_rate=1e-3 --save_checkpoints_steps=250 $(BUILTIN_FLAGS)

# Each target has a folder of its own; quickstart has the default of bert-classify, bert_output itself, which export takes.
export: OUTPUT ?= bert_output
classify: OUTPUT ?= bert_output/classify
tag: OUTPUT ?= bert_output/tag
squad: OUTPUT ?= bert_output/squad

QUICKSTART = --do_train --do_eval --do_predict --num_train_epochs=0.3 --learning_rate=2e-4 --warmup_proportion=0.2
RELEASE_TOOLS = .venv-release/.installed
RELEASE_BIN = .venv-release/bin
SITE_TOOLS = .venv-site/.installed

# A name with blanks as one target or prerequisite.
blank := $(subst ,, )
one = $(subst $(blank),\ ,$(1))

.DEFAULT_GOAL := help
.PHONY: help install lint check-tree format docs test test-all messages test-pythons quickstart classify pretrain tag squad features convert export \
  builtin-model benchmark check-gpu lock bills audit distributions release site clean

help:
	@echo "make quickstart   set up .venv, train, evaluate and predict on the sample in data/"
	@echo "make classify     bert-classify with TASK= DATA= OUTPUT= MODEL= FLAGS=; results in bert_output/classify"
	@echo "make pretrain     bert-build-vocab, bert-pretrain and bert-fill-mask on TEXT=, into PRETRAINED="
	@echo "make tag          bert-tag on data/tagging, or with TAGS= OUTPUT= MODEL= FLAGS="
	@echo "make squad        bert-squad on data/squad, or with SQUAD= OUTPUT= MODEL= FLAGS="
	@echo "make features     bert-extract-features with TEXTS= FEATURES= MODEL= (or the built-in model) FLAGS="
	@echo "make convert      bert-convert with FROM= TO= FLAGS="
	@echo "make export       bert-export of OUTPUT= (or what make quickstart made) into EXPORT="
	@echo "make builtin-model  pre-train the model in the box on BUILTIN_TEXT=, with BUILTIN_STEPS= BUILTIN_FALL_STEPS="
	@echo "make benchmark    measure speed beside other programs, from MODEL=, a Hugging Face folder; BENCHMARK_FLAGS=--only=short"
	@echo "make check-gpu    check results and speed on a GPU, in ten minutes, into bert_output/check_gpu; DEVICE=cpu: on small sizes here"
	@echo "make install      set up .venv with the commands; PYTHON= chooses its Python, $(RANGE)"
	@echo "make test         the tests (about 4 minutes); make test-all: slow ones too"
	@echo "make test-pythons the tests on each installed Python, $(RANGE), and with the lowest versions of all packages"
	@echo "make messages     store the messages of the tests in TESTS= anew, in tests/messages/; slow tests too with MARKS="
	@echo "make lint         report style, types and facts about the tree; make format: mend style"
	@echo "make check-tree   report facts about the tree alone: prose, pages, imports, lengths, requirements"
	@echo "make docs         print the pages of docs/ anew, from the flags and docstrings of the commands"
	@echo "make lock         update the versions in requirements/, with hashes and bills of materials"
	@echo "make bills        make the bills of materials anew; make audit: look the locked packages up in lists of vulnerabilities"
	@echo "make release      build sdists and wheels of the commit in dist/, and try all of them on each installed Python"
	@echo "make release TAG=yes  and tags the commit as its version; make distributions: only build, twice, and compare"
	@echo "make site         build the pages of docs/ and the Python API as a site with a search, in build/site"
	@echo "make clean        remove .venv, caches and results in bert_output/"

# The versions of Python that setup.py requires: >=3.11,<3.14, which are 3.13 3.12 3.11.
REQUIRES := $(shell sed -n 's/.*python_requires="\(.*\)".*/\1/p' setup.py)
VERSIONS := $(shell echo "$(REQUIRES)" | awk -F '[.,]' '{ for (n = $$4 - 1; n >= $$2; n--) print "3." n }')
RANGE = $(lastword $(VERSIONS)) to $(firstword $(VERSIONS))

# The version of a Python, such as 3.12, or nothing if it does not run: some commands of pyenv only fail.
version = $(shell "$(1)" --version 2>/dev/null | sed -n 's/^Python \(3\.[0-9]*\).*/\1/p')
has_version = $(1) $(if $(call version,$(1)),is Python $(call version,$(1)),is no Python 3 that runs)
fitting = $(if $(filter $(VERSIONS),$(call version,$(1))),$(1))

# The Python that makes .venv: PYTHON=, or the first of these that fits, or uv, which downloads a Python if there is none.
NAMES = python3 $(VERSIONS:%=python%)
UV = $(if $(shell command -v uv 2>/dev/null),uv)
MAKER = $(if $(PYTHON),$(call fitting,$(PYTHON)),$(firstword $(foreach name,$(NAMES),$(call fitting,$(name))) $(UV)))

# "stale" if .venv has a Python that does not fit, or not that of PYTHON=, or, after an upgrade, not the one that made it.
EXPECTED := $(if $(PYTHON),$(filter $(VERSIONS),$(call version,$(PYTHON))),$(VERSIONS))
MADE_BY := $(shell sed -n 's/^version.*= *\(3\.[0-9]*\).*/\1/p' $(VENV)/pyvenv.cfg 2>/dev/null)
STALE := $(if $(wildcard $(VENV)),$(if $(filter $(EXPECTED),$(filter $(or $(MADE_BY),%),$(call version,$(BIN)/python))),,stale))
.PHONY: $(STALE)

# An environment of another name may be the user's own.
REFUSAL = $(if $(MAKER),$(if $(STALE),$(if $(filter .venv .venv-%,$(VENV)),,$(FOREIGN))),$(if $(PYTHON),$(WRONG),$(NOTHING_FITS)))
FOREIGN = $(VENV) is not of Python $(if $(PYTHON),$(EXPECTED),$(RANGE)): remove it, or give another VENV=
WRONG = PYTHON=$(call has_version,$(PYTHON)), but bert_cli needs $(RANGE): give another one, or leave it out
NOTHING_FITS = $(call has_version,python3), but bert_cli needs $(RANGE): install one of these, or uv, or give PYTHON=path/to/python
CHOICE = bert_cli needs Python $(RANGE): $(MAKER) $(if $(filter uv,$(MAKER)),finds or downloads one,fits)$(REPLACED)
REPLACED = $(if $(STALE),; $(VENV)$(if $(MADE_BY), of Python $(firstword $(MADE_BY))) is replaced)

$(BIN)/python: $(STALE)
	@$(if $(REFUSAL),echo "$(REFUSAL)" >&2; exit 1,echo "$(CHOICE)")
	$(if $(STALE),rm -rf $(VENV))
	$(if $(filter uv,$(MAKER)),uv venv --quiet --seed --python "$(REQUIRES)","$(MAKER)" -m venv) $(VENV) || { rm -rf $(VENV); exit 1; }

# make LOWEST=yes: the lowest versions that setup.py allows.
PIP = $(BIN)/python -m pip install --quiet
INSTALL = $(if $(LOWEST),$(PIP) uv && $(BIN)/python -m uv pip install --quiet --python $(BIN)/python --upgrade --resolution lowest-direct,$(PIP))

# pip prints nothing for minutes.
INSTALLING = @echo "installing TensorFlow and about 55 other packages into $(VENV): 3 GB on the disk, a few minutes, once"

$(VENV)/.installed: setup.py $(STALE) | $(BIN)/python
	$(INSTALLING)
	$(INSTALL) --editable .
	@touch $@

$(VENV)/.installed-dev: setup.py $(STALE) | $(BIN)/python
	$(INSTALLING)
	$(INSTALL) --editable ".[dev]"
	@touch $(VENV)/.installed $@

install: $(VENV)/.installed

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m tests.tree

check-tree: $(VENV)/.installed-dev
	$(BIN)/python -m tests.tree

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.installed-dev
	$(BIN)/python -m tests.docs_pages

# Tests run make themselves, without the variables that are given here.
# One worker that ends (a test that waits for ever is ended with its worker) ends the run. Where the environment forbids compiled
# files, each worker and each command that a test starts would compile all sources anew: a twentieth of the time.
# Each checkpoint and table is flushed to the disk before it gets its name, thousands of times; in memory that takes no time.
MEMORY = $(shell [ -w /dev/shm ] && [ "$$(df -Pk /dev/shm | awk 'NR == 2 { print $$4 }')" -gt 2000000 ] && echo /dev/shm)
PYTEST = unset MAKEFLAGS MAKELEVEL PYTHON VENV LOWEST; PYTHONDONTWRITEBYTECODE= $(if $(MEMORY),PYTEST_DEBUG_TEMPROOT=$(MEMORY)) $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder --max-worker-restart=0

test: $(VENV)/.installed-dev
	$(PYTEST) -m "not slow"

test-all: $(VENV)/.installed-dev
	$(PYTEST)

messages: $(VENV)/.installed-dev
	$(PYTEST) --write-messages -m "$(MARKS)" $(TESTS)

# Each in an environment of its own. The lowest versions have no wheels for the newest Python. `make -k` goes on after a failure.
INSTALLED = $(foreach name,$(VERSIONS),$(filter $(name),$(call version,python$(name))))
OLDEST = $(lastword $(INSTALLED))
MISSING = $(filter-out $(INSTALLED),$(VERSIONS))

# In recipes: the Pythons are started for these targets only, and not by every make. Those of pyenv take half a second each.
test-pythons:
	$(MAKE) $(INSTALLED:%=test-python-%) test-lowest
	@echo "ran the tests on Python $(strip $(INSTALLED)), and with the lowest versions on $(or $(OLDEST),the first Python that fits)"
	@echo "not installed: $(or $(MISSING),none of $(RANGE))"

test-python-%:
	$(MAKE) test PYTHON=python$* VENV=.venv-$*

test-lowest:
	$(MAKE) test LOWEST=yes VENV=.venv-lowest $(OLDEST:%=PYTHON=python%)

# Tools in an environment of their own, which installs nothing of the project. uv resolves for every Python that setup.py allows.
# Archives have the name of the setuptools that made them: one version, or those of another day would differ.
$(RELEASE_TOOLS): Makefile | $(BIN)/python
	$(BIN)/python -m venv $(dir $@)
	$(RELEASE_BIN)/python -m pip install --quiet "pip>=25.3" "uv>=0.9" "twine>=6" "pip-audit>=2.10" "setuptools==80.9.0"
	@touch $@

LOCK = $(RELEASE_BIN)/uv pip compile --quiet --universal --python-version $(lastword $(VERSIONS)) --generate-hashes --upgrade \
  --no-header --no-annotate --no-emit-index-url
ALL_EXTRAS = --extra serve --extra openvino --extra excel --extra parquet
# What pip would install on Linux with the oldest and the newest Python, and its metadata; it downloads no packages.
REPORT = $(RELEASE_BIN)/python -m pip install --quiet --dry-run --ignore-installed --no-deps --only-binary :all: --target build/none \
  --require-hashes
LOCKS = all gpu serve

lock: $(RELEASE_TOOLS)
	$(LOCK) setup.py $(ALL_EXTRAS) --output-file requirements/all.lock
	$(LOCK) setup.py $(ALL_EXTRAS) --extra gpu --constraint requirements/all.lock --output-file requirements/gpu.lock
	$(LOCK) light/pyproject.toml --constraint requirements/all.lock --output-file requirements/serve.lock
	$(MAKE) bills

bills: $(RELEASE_TOOLS)
	mkdir -p build
	for name in $(LOCKS); do \
	  for python in $(firstword $(VERSIONS)) $(lastword $(VERSIONS)); do \
	    $(RELEASE_BIN)/python -m tests.bills $$name --for=$$python > build/$$name-$$python.lock && \
	    $(REPORT) --python-version $$python --requirement build/$$name-$$python.lock --report build/$$name-$$python.json || exit 1; \
	  done; \
	  $(RELEASE_BIN)/python -m tests.bills $$name build/$$name-*.json || exit 1; \
	done

# An index without advisories, such as a mirror, makes pip-audit name packages that could not be audited.
audit: $(RELEASE_TOOLS)
	for name in $(LOCKS); do \
	  $(RELEASE_BIN)/pip-audit --disable-pip --require-hashes --progress-spinner off --requirement requirements/$$name.lock || exit 1; \
	done

distributions: $(RELEASE_TOOLS)
	$(RELEASE_BIN)/python -m tests.release dist
	$(RELEASE_BIN)/twine check --strict dist/*

release-python-%: $(RELEASE_TOOLS)
	@$(RELEASE_BIN)/python -m tests.release_trial python$* $(QUICKSTART)

# What forbids the release is known before the minutes of work, and nothing is tagged untried. python3, if no name has a version.
release: | $(BIN)/python
	@$(if $(filter-out yes,$(TAG)),echo "TAG=$(TAG) is unknown: TAG=yes tags the release" >&2; exit 1)
	@$(BIN)/python -m tests.release $(if $(TAG),prepare,check)
	$(MAKE) distributions
	$(MAKE) $(patsubst %,release-python-%,$(or $(INSTALLED),3))
	@echo "wheels and sdists of both distributions passed on Python $(or $(strip $(INSTALLED)),3)"
	@$(RELEASE_BIN)/python -m tests.release $(if $(TAG),tag,advise)

# An environment of its own, and no extra: nobody who installs the package needs it. mkdocs-material gets fixes until May 2027; its
# successor Zensical reads the same mkdocs.yml.
$(SITE_TOOLS): Makefile | $(BIN)/python
	$(BIN)/python -m venv $(dir $@)
	$(dir $@)bin/python -m pip install --quiet "mkdocs==1.6.1" "mkdocs-material==9.8.2" "mkdocstrings==1.0.8" \
	  "mkdocstrings-python==2.0.11" "mkdocs-jupyter==0.26.3" "ruff>=0.17"
	@touch $@

site: $(SITE_TOOLS)
	$(dir $(SITE_TOOLS))bin/python -m tests.site_pages build/site_source
	NO_MKDOCS_2_WARNING=1 $(dir $(SITE_TOOLS))bin/mkdocs build --strict --config-file build/site_source/mkdocs.yml
	@echo "wrote build/site/index.html"

quickstart: install
	$(BIN)/bert-classify --task_name=cola $(QUICKSTART)

classify: install
	$(BIN)/bert-classify "--task_name=$(TASK)" "--data_dir=$(DATA)" "--output_dir=$(OUTPUT)" \
	  $(if $(MODEL),"--init_checkpoint=$(MODEL)") --do_train --do_eval --do_predict $(FLAGS)

$(call one,$(PRETRAINED)).vocab.txt: $(call one,$(TEXT)) | install
	$(BIN)/bert-build-vocab "--input_file=$(TEXT)" "--output_file=$@"

pretrain: $(call one,$(PRETRAINED)).vocab.txt
	$(BIN)/bert-pretrain "--input_file=$(TEXT)" "--vocab_file=$<" "--bert_config_file=$(CONFIG)" "--output_dir=$(PRETRAINED)" \
	  --do_train --do_eval $(PRETRAIN_FLAGS) $(FLAGS)
	$(BIN)/bert-fill-mask "the dog [MASK] in the garden." "--init_checkpoint=$(PRETRAINED)"

tag: install
	$(BIN)/bert-tag "--data_dir=$(TAGS)" "--output_dir=$(OUTPUT)" --do_train --do_eval --do_predict \
	  $(if $(MODEL),"--init_checkpoint=$(MODEL)",--learning_rate=5e-4 --num_train_epochs=3) $(FLAGS)

squad: install
	$(BIN)/bert-squad "--train_file=$(SQUAD)/train.json" "--predict_file=$(SQUAD)/dev.json" "--output_dir=$(OUTPUT)" \
	  --do_train --do_predict --do_eval \
	  $(if $(MODEL),"--init_checkpoint=$(MODEL)",--learning_rate=3e-4 --num_train_epochs=3 --skip_padding) $(FLAGS)

benchmark: install
	@test -n "$(MODEL)" || { echo "give MODEL=: a Hugging Face folder, from which all programs start"; exit 1; }
	$(BIN)/python -m benchmarks "--model=$(MODEL)" --json=bert_output/benchmarks.json $(BENCHMARK_FLAGS)

# NVIDIA's libraries are an extra of 3 GB. PEER_PYTHON: the interpreter that has the other programs.
check-gpu: install
	$(if $(filter gpu,$(DEVICE)),$(PIP) --editable ".[gpu]")
	$(BIN)/python -m benchmarks.gpu "--device=$(DEVICE)" "--peer_python=$(PEER_PYTHON)" $(if $(MODEL),"--model=$(MODEL)")

features: install
	@mkdir -p "$$(dirname "$(FEATURES)")"
	$(BIN)/bert-extract-features "--input_file=$(TEXTS)" "--output_file=$(FEATURES)" \
	  $(if $(MODEL),"--init_checkpoint=$(MODEL)") $(FLAGS)

convert: install
	$(BIN)/bert-convert "--from=$(FROM)" "--to=$(TO)" --check $(FLAGS)

export: install
	$(BIN)/bert-export "--init_checkpoint=$(OUTPUT)" "--export_dir=$(EXPORT)" $(FLAGS)

$(call one,$(BUILTIN_WORK))/vocab.txt: | install
	@test -n "$(BUILTIN_TEXT)" || { echo "give BUILTIN_TEXT=: text, a sentence a line, a blank line between documents"; exit 1; }
	@mkdir -p "$(BUILTIN_WORK)"
	$(BIN)/bert-build-vocab "--input_file=$(BUILTIN_TEXT)" "--output_file=$@" --vocab_size=$(BUILTIN_VOCAB_SIZE)

builtin-model: $(call one,$(BUILTIN_WORK))/vocab.txt
	$(BIN)/bert-pretrain "--input_file=$(BUILTIN_TEXT)" $(BUILTIN_RECIPE) "--output_dir=$(BUILTIN_WORK)/constant" --lr_schedule=constant \
	  --num_train_steps=$(BUILTIN_STEPS) --num_warmup_steps=$(BUILTIN_WARMUP_STEPS)
	$(BIN)/bert-pretrain "--input_file=$(BUILTIN_FALL_TEXT)" $(BUILTIN_RECIPE) "--output_dir=$(BUILTIN_WORK)/falling" \
	  --lr_schedule=linear "--init_checkpoint=$(BUILTIN_WORK)/constant" --num_train_steps=$(BUILTIN_FALL_STEPS) \
	  --num_warmup_steps=$(BUILTIN_FALL_WARMUP_STEPS) --random_seed=2 --keep_checkpoint_max=$(BUILTIN_AVERAGE)
	$(BIN)/bert-convert "--from=$(BUILTIN_WORK)/falling" "--to=$(BUILTIN_WORK)/float16" --head=masked_lm --float16 --check \
	  --average_last=$(BUILTIN_AVERAGE) --overwrite
	install -m 644 "$(BUILTIN_WORK)/float16/model.safetensors" "$(BUILTIN_WORK)/float16/vocab.txt" $(BUILTIN)
	$(BIN)/bert-fill-mask "the dog [MASK] in the garden ."

clean:
	rm -rf $(VENV) .venv-* build dist light/build .cache *.egg-info light/*.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find bert_output -mindepth 1 ! -name .gitkeep -delete
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
