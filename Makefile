# For users: `make quickstart`. For developers: `make test lint`. Every target sets up .venv by itself.
# A target per command takes variables: make classify TASK=mrpc DATA=path/to/data MODEL=path/to/bert_model.ckpt

PYTHON ?= python3
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

# A name with blanks as one target or prerequisite.
blank := $(subst ,, )
one = $(subst $(blank),\ ,$(1))

.DEFAULT_GOAL := help
.PHONY: help install lint format docs test test-all quickstart classify pretrain tag squad features convert export builtin-model \
  benchmark check-gpu clean

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
	@echo "make install      set up .venv with the commands"
	@echo "make test         the tests (under 5 minutes); make test-all: slow ones too"
	@echo "make lint         report style and types; make format: mend style"
	@echo "make docs         print the pages of docs/ anew, from the flags and docstrings of the commands"
	@echo "make clean        remove .venv, caches and results in bert_output/"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# pip prints nothing for minutes.
INSTALLING = @echo "installing TensorFlow and about 55 other packages into $(VENV): 3 GB on the disk, a few minutes, once"

$(VENV)/.installed: setup.py | $(BIN)/python
	$(INSTALLING)
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.installed-dev: setup.py | $(BIN)/python
	$(INSTALLING)
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	@touch $(VENV)/.installed $@

install: $(VENV)/.installed

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.installed-dev
	$(BIN)/python -m tests.docs_pages

# One worker that ends (a test that waits for ever is ended with its worker) ends the run. Where the environment forbids compiled
# files, each worker and each command that a test starts would compile all sources anew: a twentieth of the time.
# Each checkpoint and table is flushed to the disk before it gets its name, thousands of times; in memory that takes no time.
MEMORY = $(shell [ -w /dev/shm ] && [ "$$(df -Pk /dev/shm | awk 'NR == 2 { print $$4 }')" -gt 2000000 ] && echo /dev/shm)
PYTEST = PYTHONDONTWRITEBYTECODE= $(if $(MEMORY),PYTEST_DEBUG_TEMPROOT=$(MEMORY)) $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder --max-worker-restart=0

test: $(VENV)/.installed-dev
	$(PYTEST) -m "not slow"

test-all: $(VENV)/.installed-dev
	$(PYTEST)

quickstart: install
	$(BIN)/bert-classify --task_name=cola --do_train --do_eval --do_predict --num_train_epochs=0.3 --learning_rate=2e-4 \
	  --warmup_proportion=0.2

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
	$(if $(filter gpu,$(DEVICE)),$(BIN)/python -m pip install --quiet --editable ".[gpu]")
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
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find bert_output -mindepth 1 ! -name .gitkeep -delete
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
