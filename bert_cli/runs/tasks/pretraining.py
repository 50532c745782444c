"""The task of bert-pretrain: text or TFRecord files, masked words and next sentences."""

import contextlib
import dataclasses
import functools
import time
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.json_files import JsonObject
from bert_cli.base.log import LOG
from bert_cli.base.names import STANDARD
from bert_cli.corpus.instances import Sampling
from bert_cli.corpus.record_source import RecordSource
from bert_cli.corpus.space_words import SpaceWordTokenizer
from bert_cli.corpus.text import MemoryText, TextSource
from bert_cli.features.pretraining_batch import model_batch
from bert_cli.flags.option import flag_values
from bert_cli.inference.engine import Network, PretrainingEvaluationNetwork
from bert_cli.inference.rows import Predictor, put_rows
from bert_cli.metrics.pretraining import pretraining_metrics
from bert_cli.model.config import BertConfig
from bert_cli.opening.bundle import ModelBundle
from bert_cli.opening.checks import PairCheck, warn_unknown
from bert_cli.opening.loader import load_model
from bert_cli.outputs.eval_examples import SEQUENCES, EvalExamples, masked_word_examples
from bert_cli.outputs.progress import Progress
from bert_cli.problem_types.kinds import PRETRAINING
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.runs.preparation.corpus import CACHE_SIZE, MAX_LOGGED_FILES, warn_of_few_predictions
from bert_cli.runs.tasks.interface import Evaluation, Plan, Recipe, Task
from bert_cli.runs.tasks.pretraining_data import PretrainingDataset, PretrainingSource, PretrainingText, find_files
from bert_cli.settings.pretraining import SPACES, Pretraining, PretrainSettings
from bert_cli.settings.texts import CorpusForm
from bert_cli.weights.path import CheckpointPath

if TYPE_CHECKING:
    from bert_cli.heads.model import NetworkOptions, TaskModel
    from bert_cli.inference.tensorflow import TensorFlowEngine
    from bert_cli.runs.engine.training_inputs import StreamInput

# Flags that change the result only if the training data is text.
_TEXT_FLAGS = ("masked_lm_prob", "do_whole_word_mask", "whole_words_from", "short_seq_prob", "eval_share")


_MANY_PASSES = 200  # BERT itself was trained for 40 passes


class PretrainingTask(Task[ModelBundle[BertConfig], PretrainingDataset, None]):
    """Task of bert-pretrain; see interface.Task for its methods."""

    command = PRETRAINING.command
    settings: PretrainSettings

    def __init__(
        self,
        settings: PretrainSettings,
        texts: Mapping[str, MemoryText] = MappingProxyType({}),
        temporary_files: Collection[str] = (),
    ):
        """Make the task.

        Args:
            texts: texts in memory, by the flag for their files.
            temporary_files: flags for files that exist only during the run, so flags.txt does not
                name them.
        """
        super().__init__(settings)
        self._texts = texts
        self._temporary_files = temporary_files

    @functools.cached_property
    def _inputs(self) -> dict[str, tuple[Sequence[TextSource], bool]]:
        """Return each flag's paths or texts, and whether these are TFRecord files.

        The result is cached, because a pipe can be read only once.
        """
        patterns = {"input_file": self.settings.files.input_file, "eval_file": self.settings.task.eval_file}
        in_files = {flag: find_files(pattern, flag) for flag, pattern in patterns.items() if pattern}
        return in_files | {flag: ([text], False) for flag, text in self._texts.items()}

    def load(self, checkpoint: CheckpointPath | None) -> ModelBundle[BertConfig]:
        settings = self.settings
        needs_vocab = not all(are_records for _, are_records in self._inputs.values())
        length = settings.encoding.max_seq_length
        model = load_model(settings.model, checkpoint, length, needs_bert=True, needs_vocab=needs_vocab)
        if model.head.has_untrained_next_sentence and not (settings.phases.do_train or settings.task.no_nsp):
            raise InputError(f"{model.folder}: was trained with --no_nsp; give --no_nsp to evaluate it")
        if not model.optional_vocabulary:  # TFRecords hold token ids
            LOG.info("no --vocab_file: it is not needed here, but later commands will ask for it")
        return model

    def read(self, model: ModelBundle[BertConfig], stack: contextlib.ExitStack) -> PretrainingDataset:
        settings = self.settings
        task = self._objective(model)
        if task.no_nsp and settings.task.no_nsp is None:
            LOG.info("%s: has no head for next sentences, so masked words alone count (--no_nsp)", model.folder)
        phases = self.settings.phases
        splits: dict[str, PretrainingSource] = {}
        has_eval_file = "eval_file" in self._inputs
        eval_share = 0.0 if has_eval_file else task.eval_share
        if phases.do_train:
            splits["train"] = splits["held_out"] = self._open_data("input_file", model, eval_share)
            stack.enter_context(splits["train"])
        if phases.do_eval and (has_eval_file or "train" not in splits):
            flag = "eval_file" if has_eval_file else "input_file"
            splits["held_out"] = self._open_data(flag, model, eval_share)
            stack.enter_context(splits["held_out"])
        # Check each text once: both splits may share one.
        for data, split in {data: split for split, data in reversed(splits.items())}.items():
            if isinstance(data, PretrainingText) and model.optional_vocabulary:
                counts = (data.num_unknown, data.num_tokens)
                strict = settings.model.strict
                warn_unknown(split, *counts, "tokens", model.vocabulary, strict)
        if any(isinstance(data, PretrainingText) for data in splits.values()):
            warn_of_few_predictions(settings.masking, settings.encoding.max_seq_length)
        check_pairs = PairCheck(model.config, model.config_name, settings.model.strict)
        if check_pairs.is_due:
            check_pairs.report(any(data.has_pairs for data in splits.values()))
        return PretrainingDataset(splits, model.optional_vocabulary, not task.no_nsp)

    def _objective(self, model: ModelBundle[BertConfig]) -> Pretraining:
        """Return the objective's flags, with --no_nsp if the model lacks a next-sentence head."""
        task = self.settings.task
        return task if task.no_nsp is not None else dataclasses.replace(task, no_nsp=model.head.is_masked_lm)

    def _open_data(self, flag: str, model: ModelBundle[BertConfig], eval_share: float) -> PretrainingSource:
        """Open the data of --input_file or --eval_file.

        Args:
            flag: input_file or eval_file.
            model: config and tokenizer.
            eval_share: share of documents held out for evaluation, if the data is text.
        """
        (paths, are_records), settings = self._inputs[flag], self.settings
        length = settings.encoding.max_seq_length
        masking = settings.masking
        seed = settings.seed.random_seed
        if are_records:
            column = settings.columns.text_column
            refuse_if(
                column is not None,
                f"--text_column={column}: {paths[0]} is a TFRecord file, which has no columns; leave the flag out",
            )
            task = settings.task
            name = "line_by_line" if task.line_by_line else "pack"
            refuse_if(
                task.line_by_line or task.pack is not None,
                f"--{name}: {paths[0]} is a TFRecord file, which has sequences already; leave the flag out",
            )
            record_paths = [path for path in paths if isinstance(path, str)]
            source = RecordSource(record_paths, length, masking.max_predictions_per_seq, model.config.vocab_size, seed)
            for path in record_paths[:MAX_LOGGED_FILES]:
                LOG.info("  %s", path)
            num_empty = sum(map(files.is_empty, record_paths))
            ending = f", {num_empty} of them empty" if num_empty else ""
            LOG.info("%d instances in %d files%s", len(source), len(record_paths), ending)
            return source
        sampling = Sampling.of(model.tokenizer.ids, length, masking)
        corpus_form = CorpusForm.of(settings.columns, settings.data, settings.text_files)
        tokenizer = model.tokenizer
        if masking.whole_words_from == SPACES:
            tokenizer = SpaceWordTokenizer(tokenizer, CACHE_SIZE)
        return PretrainingText(
            paths,
            tokenizer,
            sampling,
            eval_share,
            form=self._objective(model).form(masking.short_seq_prob),
            seed=seed,
            corpus_form=corpus_form,
            flag=flag,
        )

    def plan(self, model: ModelBundle[BertConfig], data: PretrainingDataset, recipe: Recipe) -> Plan:
        settings = self.settings
        do_lower_case = model.do_lower_case if model.optional_vocabulary else None
        train = data.splits["train"]
        batch_size = settings.training.train_batch_size
        num_sequences, mean_length = train.pass_size()
        steps, warmup_steps = settings.steps.resolve(num_sequences, batch_size)
        passes = steps * batch_size / num_sequences
        LOG.info(
            "%s sequences in a pass over the data, %.1f%% full; %s steps of %d sequences are %.3g passes",
            f"{num_sequences:,}", 100 * mean_length / settings.encoding.max_seq_length, f"{steps:,}", batch_size, passes,
        )  # fmt: skip
        if passes > _MANY_PASSES:
            LOG.warning(
                "warning: %s passes over the data are more than a model learns from; give fewer --num_train_steps, or "
                "--num_train_epochs",
                f"{passes:,.0f}",
            )
        if warmup_steps >= steps:
            LOG.warning(
                "warning: --num_warmup_steps=%d: the training's %d steps are over before the "
                "learning rate has risen to --learning_rate",
                warmup_steps, steps,
            )  # fmt: skip
        warmup_flag: JsonObject = {"num_warmup_steps": settings.steps.fixed_warmup_steps}
        objective: JsonObject = {"no_nsp": not data.has_next_sentences}
        deciding_values: JsonObject = {"training_data": train.digest, **warmup_flag, **objective}
        if isinstance(train, PretrainingText):
            values = flag_values(settings)
            deciding_values |= {name: values[name] for name in _TEXT_FLAGS} | {"do_lower_case": do_lower_case}
        paths = {"input_file": settings.files.input_file, "eval_file": settings.task.eval_file}
        flags: JsonObject = {flag: absolute_patterns(path) for flag, path in paths.items()}
        flags |= {"do_lower_case": do_lower_case, **warmup_flag, **objective}
        if settings.steps.num_train_epochs is None:
            flags["num_train_steps"] = steps
        return Plan(
            steps=steps,
            warmup_steps=warmup_steps,
            examples=num_sequences,
            deciding_values=deciding_values,
            resolved_flags=flags | dict.fromkeys(self._temporary_files),
        )

    def make_model(
        self, model: ModelBundle[BertConfig], data: PretrainingDataset, options: "NetworkOptions"
    ) -> "TaskModel":
        from bert_cli.heads.pretraining import BertPretrainer

        return BertPretrainer(model.config, data.has_next_sentences, **options)

    def network(self, model: ModelBundle[BertConfig], data: PretrainingDataset) -> Network:
        return PretrainingEvaluationNetwork(data.has_next_sentences)

    def training_input(
        self, data: PretrainingDataset, directory: RunDirectory | None, resumes: bool, writes: bool
    ) -> "StreamInput":
        from bert_cli.runs.engine.training_inputs import StreamInput

        train = data.splits["train"]
        batch_size = self.settings.training.train_batch_size
        return StreamInput(lambda position: train.stream(batch_size, position))

    def evaluate(self, predictor: Predictor, data: PretrainingDataset) -> Evaluation[None]:
        """Evaluate losses and accuracies of masked words and next sentences."""
        engine = cast("TensorFlowEngine", predictor.engine)  # --engine allows no other one
        batch_size = self.settings.inference.eval_batch_size
        max_steps = self.settings.steps.max_eval_steps
        num_sequences, is_cut, chunks = data.splits["held_out"].evaluation(max_steps * batch_size or None)
        if is_cut and not predictor.is_quiet:
            LOG.info("evaluating the first %d sequences (--max_eval_steps=%d; 0 for all)", num_sequences, max_steps)
        first_rows: dict[str, np.ndarray] = {}
        chunk_sums: list[dict[str, np.ndarray]] = []
        max_tokens = batch_size * engine.max_seq_length
        every = max(1, num_sequences // 4)
        with Progress("evaluating", num_sequences, every=every, is_shown=not predictor.is_quiet) as progress:
            start = time.monotonic()
            for chunk in chunks:
                first_rows = first_rows or {name: values[:SEQUENCES] for name, values in chunk.items()}
                lengths = chunk["input_mask"].sum(axis=1)
                sums: dict[str, np.ndarray] = {}
                for rows in engine.groups(lengths, max_tokens):
                    batch = model_batch({name: values[rows] for name, values in chunk.items()}, trim=engine.packed)
                    put_rows(sums, rows, engine.run(batch), len(lengths))
                    progress.update(progress.position + len(rows))
                chunk_sums.append(sums)
            seconds = time.monotonic() - start
        joined = {name: np.concatenate([sums[name] for sums in chunk_sums]) for name in chunk_sums[0]}
        metrics = pretraining_metrics(joined, batch_size, data.has_next_sentences)

        def examples() -> EvalExamples:
            assert data.vocabulary is not None, "it is asked for only where there is one"
            batch = model_batch(first_rows, trim=engine.packed)
            logits = engine.model(batch, packed=engine.packed)["masked_lm_logits"]  # float32 [n, P, V]
            return masked_word_examples(batch, logits.numpy(), data.vocabulary.tokens, num_sequences)

        rate = round(num_sequences / seconds, 2)
        examples_function = examples if data.vocabulary and engine.packed else None  # a TPU computes nothing op by op
        return Evaluation(metrics, [], {"eval_examples_per_second": rate}, None, examples_function)


def absolute_patterns(patterns: str | None) -> str | None:
    """Return comma-separated patterns as absolute paths; None if there are no patterns."""
    if not patterns:
        return None
    names = patterns.split(",")
    return ",".join(name if name == STANDARD else files.make_absolute(name) for name in names)
