"""What is of bert-pretrain alone: text or TFRecords, the two heads, accuracies of masked words and next sentences."""

import contextlib
import logging
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from bert_cli.base import files
from bert_cli.base.names import FLAGS, STANDARD
from bert_cli.corpus.instances import Sampling
from bert_cli.corpus.masking import make_masking
from bert_cli.features.pretraining_batch import model_batch
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.flags.saved import read_flags
from bert_cli.metrics.pretraining import pretraining_metrics
from bert_cli.model.config import BertConfig
from bert_cli.outputs.dry_run import Survey
from bert_cli.outputs.eval_examples import SEQUENCES, EvalExamples, blank_examples
from bert_cli.runs.engine.onnx_heads import OnnxHead
from bert_cli.runs.engine.predictor import Predictor
from bert_cli.runs.loading import sources
from bert_cli.runs.loading.checks import check_unknown_share
from bert_cli.runs.loading.sources import ModelSources
from bert_cli.runs.tasks.interface import Evaluation, Plan
from bert_cli.runs.tasks.pretraining_data import RecordInput, TextInput, find_files
from bert_cli.settings.pretraining import PretrainSettings
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import Vocabulary, read_vocabulary
from bert_cli.training.hyperparameters import Updates
from bert_cli.weights.path import CheckpointPath, model_folder

if TYPE_CHECKING:
    from bert_cli.heads.model import TaskModel
    from bert_cli.runs.engine.session import Session

LOG = logging.getLogger("bert_cli")
Data = RecordInput | TextInput
# What decides the result only where training is on text.
_OF_TEXT = ("masked_lm_prob", "do_whole_word_mask", "short_seq_prob", "eval_share")


class PretrainingModel(NamedTuple):
    """As sources.OpenedModel; `vocabulary` and `tokenizer` are None for TFRecords without a vocabulary."""

    sources: ModelSources
    config: BertConfig
    vocabulary: Vocabulary | None
    tokenizer: FullTokenizer | None


class PretrainingTask:
    """See task.Task. After `read`: `data`, "train" and "held_out", what is trained and evaluated on, as far as needed."""

    command = "bert-pretrain"
    files = ()
    evaluation_files = ()

    def __init__(self, settings: PretrainSettings):
        self.settings = settings
        self.data: dict[str, Data] = {}
        self._found: dict[str, tuple[list[str], bool]] = {}
        self._vocabulary: Vocabulary | None = None

    def again(self, settings: PretrainSettings) -> "PretrainingTask":
        return PretrainingTask(settings)

    @property
    def freezes_encoder(self) -> bool:
        return self.settings.rates.freeze_encoder

    def open(self, checkpoint: CheckpointPath | None) -> PretrainingModel:
        settings = self.settings
        for flag, patterns in (("input_file", settings.files.input_file), ("eval_file", settings.task.eval_file)):
            if patterns:
                self._found[flag] = find_files(patterns, flag)
        needs_vocab = not all(are_records for _, are_records in self._found.values())
        model = settings.model
        found = sources.find_sources(model.vocab_file, model.bert_config_file, checkpoint, needs_vocab)
        vocabulary = read_vocabulary(found.vocab_file) if found.vocab_file else None
        config = sources.read_bert_config(found, model.gelu, vocabulary.size if vocabulary else None)
        sources.check_sizes(config, vocabulary, settings.encoding.max_seq_length, found, model.strict)
        if not vocabulary:
            LOG.info("no --vocab_file: it is not needed here, but later commands will ask for it")
            return PretrainingModel(found, config, None, None)
        lower = sources.checked_casing(model, found, vocabulary)
        return PretrainingModel(found, config, vocabulary, FullTokenizer(vocabulary, lower))

    def read(self, model: PretrainingModel, stack: contextlib.ExitStack) -> None:
        settings, task, phases = self.settings, self.settings.task, self.settings.phases
        self._vocabulary = model.vocabulary
        if phases.do_train:
            share = 0.0 if task.eval_file else task.eval_share
            self.data["train"] = self.data["held_out"] = self._open_data("input_file", model, share)
            stack.enter_context(self.data["train"])
        if phases.do_eval and (task.eval_file or "train" not in self.data):
            # The text that the model was trained on gives its held-out documents, any other one all of its documents.
            trained_on = read_flags(os.path.join(model_folder(phases.output_dir), FLAGS))
            same = trained_on.get("input_file") == absolute_patterns(settings.files.input_file)
            share = task.eval_share if same and "eval_file" not in trained_on and not task.eval_file else 0.0
            flag = "eval_file" if task.eval_file else "input_file"
            self.data["held_out"] = self._open_data(flag, model, share)
            stack.enter_context(self.data["held_out"])
        for data, split in {data: split for split, data in reversed(self.data.items())}.items():  # each text once
            if isinstance(data, TextInput) and model.vocabulary:
                counts, strict = (data.num_unknown, data.num_tokens), settings.model.strict
                check_unknown_share(split, *counts, "tokens", model.vocabulary, strict)

    def _open_data(self, flag: str, model: PretrainingModel, share: float) -> Data:
        """The data that --input_file or --eval_file names; share: of the documents of a text, held out for evaluation."""
        (paths, are_records), settings = self._found[flag], self.settings
        length, masking, seed = settings.encoding.max_seq_length, settings.masking, settings.seed.random_seed
        if are_records:
            return RecordInput(paths, length, masking.max_predictions_per_seq, model.config.vocab_size, seed)
        assert model.tokenizer is not None, "`open` reads a vocabulary for every text"
        rules = make_masking(
            model.tokenizer.ids, masking.max_predictions_per_seq, masking.masked_lm_prob, masking.do_whole_word_mask
        )
        sampling = Sampling(length, masking.short_seq_prob, rules)
        return TextInput(paths, model.tokenizer, sampling, share, pairs=not settings.task.no_nsp, seed=seed)

    def sequences(self) -> dict[str, RaggedFeatures]:
        """None: text and records are streamed."""
        return {}

    def surveys(self) -> dict[str, Survey]:
        """None: text and records are streamed."""
        return {}

    def show_examples(self, model: PretrainingModel, count: int) -> None:
        """None: they are made while they are trained on."""

    def plan(self, model: PretrainingModel) -> Plan:
        settings, steps = self.settings, self.settings.steps
        lower = model.tokenizer.do_lower_case if model.tokenizer else None
        if steps.num_warmup_steps >= steps.num_train_steps:
            LOG.warning(
                "warning: --num_warmup_steps=%d: the training's %d steps are over before the learning rate has risen to "
                "--learning_rate",
                steps.num_warmup_steps, steps.num_train_steps,
            )  # fmt: skip
        data = self.data["train"]
        decided: dict[str, Any] = {"training_data": data.digest}
        if isinstance(data, TextInput):
            masking, task = settings.masking, settings.task
            values = (masking.masked_lm_prob, masking.do_whole_word_mask, masking.short_seq_prob, task.eval_share)
            decided |= dict(zip(_OF_TEXT, values, strict=True)) | {"do_lower_case": lower}
        paths = {"input_file": settings.files.input_file, "eval_file": settings.task.eval_file}
        return Plan(
            steps=steps.num_train_steps,
            warmup_steps=steps.num_warmup_steps,
            decided=decided,
            found={"do_lower_case": lower} | {flag: absolute_patterns(path) for flag, path in paths.items()},
        )

    def make_model(self, model: PretrainingModel, compute_dtype: str) -> "TaskModel":
        from bert_cli.heads.pretraining import BertPretrainer

        settings = self.settings
        return BertPretrainer(model.config, compute_dtype, settings.seed.random_seed, not settings.task.no_nsp)

    def onnx_head(self, model: PretrainingModel, flag: str) -> OnnxHead:
        raise NotImplementedError("settings.devices.refuse_onnxruntime comes first")

    @property
    def metrics(self) -> tuple[str, ...]:
        names = ("masked_lm_loss", "masked_lm_accuracy", "masked_lm_perplexity")
        pairs = () if self.settings.task.no_nsp else ("next_sentence_loss", "next_sentence_accuracy")
        return ("loss", *names, *pairs)

    def train(self, session: "Session", *, updates: Updates, **how: Any) -> dict[str, Any]:
        data = self.data["train"]
        return session.train_stream(lambda at: data.stream(updates.batch_size, at), updates=updates, **how)

    def facts(self) -> dict[str, Any]:
        return {}

    def evaluate(self, session: Predictor) -> Evaluation:
        """Accuracies and losses of masked words and next sentences."""
        return self._evaluate(cast("Session", session))  # onnx_head refuses what is none

    def _evaluate(self, session: "Session") -> Evaluation:
        batch_size, most_steps = self.settings.inference.eval_batch_size, self.settings.steps.max_eval_steps
        count, is_cut, chunks = self.data["held_out"].evaluation(most_steps * batch_size or None)
        if is_cut and not session.is_quiet:
            LOG.info("evaluating the first %d sequences (--max_eval_steps=%d; 0 for all)", count, most_steps)
        first: dict[str, np.ndarray] = {}

        def watched() -> Iterator[dict[str, np.ndarray]]:
            for chunk in chunks:
                first.update({name: values[:SEQUENCES] for name, values in chunk.items()} if not first else {})
                yield chunk

        sums = session.infer_chunks(watched(), count, batch_size, "evaluating")
        rate = sums.pop("examples_per_second")
        metrics = pretraining_metrics(sums, batch_size, not self.settings.task.no_nsp)

        def examples() -> EvalExamples:
            assert self._vocabulary is not None, "only then it is asked for"
            batch = model_batch(first, trim=session.packed)
            logits = session.model(batch, packed=session.packed)["masked_lm_logits"]  # float32 [n, P, V]
            return blank_examples(batch, logits.numpy(), self._vocabulary.tokens, count)

        shown = examples if self._vocabulary and session.packed else None  # a TPU computes nothing op by op
        return Evaluation(metrics, [], {"eval_examples_per_second": rate}, shown)

    def predict(self, session: Predictor) -> dict[str, Any]:
        """There is nothing to predict."""
        return {}


def absolute_patterns(patterns: str | None) -> str | None:
    """Patterns with commas between, each from any working directory; None for none."""
    if not patterns:
        return None
    return ",".join(part if part == STANDARD else files.absolute(part) for part in patterns.split(","))
