"""A BERT encoder that gives vectors of tokens or of whole lines, and attention. Imports TensorFlow."""

import contextlib
import itertools
import logging
import sys
import time
import zipfile
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import tensorflow as tf

from bert_cli.base.errors import InputError
from bert_cli.examples.text_lines import split_line
from bert_cli.features import spec
from bert_cli.features.extraction import ExtractionFeatures, extraction_chunks
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.features.stream import length_groups
from bert_cli.heads.model import make_encoder
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.outputs.features_arrays import open_archive, strongest_links, write_attention
from bert_cli.outputs.features_files import Form, Writer, open_writer
from bert_cli.outputs.features_rows import feature_rows
from bert_cli.runs import extraction_plan as plan
from bert_cli.runs.session import Session
from bert_cli.runs.sources import AnyModel
from bert_cli.runs.training_run import memory_advice
from bert_cli.settings.groups import Devices
from bert_cli.settings.tools import Attention, Extraction, ExtractSettings
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.weights.checkpoint import open_checkpoint
from bert_cli.weights.hub_encoder import ModuleEncoder
from bert_cli.weights.path import HUB, CheckpointPath

LOG = logging.getLogger("bert_cli")
_ATTENTION_TOKENS = 1024  # in a batch, where attention is asked for: it takes layers · heads · length numbers a token


class FeaturesSession(Session):
    """A BertEncoder with its strategy and precision."""

    def __init__(
        self,
        config: BertConfig | ModuleConfig,
        devices: Devices,
        pooling: str,
        places: Sequence[int],
        max_seq_length: int,
        batch_size: int,
        attention: bool = False,
    ):
        """pooling: of settings.tools.POOLINGS; places: of the layers that are asked for, 0 for the embedding, n for the
        n-th Transformer layer; max_seq_length: tokens of a window; batch_size: windows of so many tokens that are
        computed at once; attention: whether extract gives it.
        """
        super().__init__(
            lambda precision: make_encoder(config, precision), devices, max_seq_length, weights_follow=True
        )
        self._pooling, self._places, self._attention = pooling, tuple(places), attention
        self._batch_size = batch_size
        self._runner = self.runner(self._forward, spec.EXTRACTION)

    def load(self, checkpoint: CheckpointPath) -> None:
        """Take the weights. InputError where one is missing; the pooler's count only where it is asked for.

        A module that is no BERT has its own.
        """
        if checkpoint.kind == HUB and isinstance(self.model, ModuleEncoder):
            return
        report = self._fill(open_checkpoint(checkpoint))
        missing = [name for name in report.missing if self._pooling == "pooler" or "/pooler/" not in name]
        if missing:
            raise InputError(
                f"{report.source}: lacks {', '.join(missing[:3])}: it is not the model of this config; check "
                "--init_checkpoint and --bert_config_file"
            )

    def _forward(self, batch: dict) -> dict[str, tf.Tensor]:
        """`vectors` [B, S, L, H], or with pooling [B, L, H] (for mean: the sum), and `attention` [B, layers, N, S, S].

        What does not lead to these (layers above the highest one, the pooler) is never computed: the graph drops it.
        """
        inputs = {name: batch[name] for name in spec.INPUTS}
        only_pooler = self._pooling == "pooler" and not self._attention
        outputs = self.model(inputs, packed=self.packed, pooled_only=only_pooler, return_attention=self._attention)
        results = {}
        if self._pooling == "pooler":
            results["vectors"] = outputs["pooled_output"][:, tf.newaxis]
        else:
            states = [outputs.get("embedding_output"), *outputs["encoder_outputs"]]
            results["vectors"] = self._pool([states[place] for place in self._places], batch["counted"])
        if self._attention:
            results["attention"] = tf.stack(outputs["attention_probs"], axis=1)
        return results

    def _pool(self, states: list[tf.Tensor], counted: tf.Tensor) -> tf.Tensor:
        """states: L of float32 [B, S, H]; counted: int32 [B, S], 1 for the tokens that count."""
        if self._pooling == "mean":
            weights = tf.cast(counted, tf.float32)[:, tf.newaxis]  # [B, 1, S]
            return tf.concat([tf.matmul(weights, state) for state in states], axis=1)
        if self._pooling == "max":
            real = counted[:, :, tf.newaxis] > 0
            states = [tf.reduce_max(tf.where(real, state, state.dtype.min), axis=1) for state in states]
            return tf.stack(states, axis=1)
        if self._pooling == "cls":
            return tf.stack([state[:, 0] for state in states], axis=1)
        return tf.stack(states, axis=2)

    def extract(self, features: ExtractionFeatures) -> tuple[np.ndarray, list[np.ndarray]]:
        """Vectors float32 [T, L, H] of all tokens in their places, or with pooling [windows, L, H]; and where it was asked
        for, the attention of each window, float32 [layers, N, length, length], else an empty list.
        """
        sequences, lengths = features.sequences, features.sequences.lengths
        counted = RaggedFeatures((features.places >= 0).astype(np.int32), sequences.segment_ids, sequences.offsets)
        tokens = self._batch_size * self.max_seq_length
        vectors: np.ndarray | None = None
        attention: dict[int, np.ndarray] = {}

        def make_batch(rows: np.ndarray) -> dict[str, np.ndarray]:
            width = int(lengths[rows].max()) if self.packed else self.max_seq_length
            return sequences.padded(rows, width) | {"counted": counted.padded(rows, width)["input_word_ids"]}

        with memory_advice("batch_size"):
            for rows in length_groups(lengths, min(tokens, _ATTENTION_TOKENS) if self._attention else tokens):
                results = self._runner(rows, make_batch)
                values = results["vectors"]
                if vectors is None:
                    count = len(features.token_ids) if self._pooling == "none" else len(sequences)
                    vectors = np.empty((count, *values.shape[-2:]), np.float32)
                if self._pooling == "none":
                    _put_tokens(vectors, values, rows, features)
                else:
                    vectors[rows] = values
                if self._attention:
                    for row, probabilities in zip(rows.tolist(), results["attention"], strict=True):
                        attention[row] = probabilities[..., : lengths[row], : lengths[row]].copy()
        assert vectors is not None, "a chunk holds at least one line"
        return vectors, [attention[row] for row in sorted(attention)]


def _put_tokens(vectors: np.ndarray, values: np.ndarray, rows: np.ndarray, features: ExtractionFeatures) -> None:
    """Copy values [B, S, L, H] of the windows `rows` to where the tokens count: `vectors` [T, L, H]."""
    sequences = features.sequences
    for row, window in zip(rows.tolist(), values, strict=True):
        places = features.places[sequences.offsets[row] : sequences.offsets[row + 1]]
        counts = np.flatnonzero(places >= 0)
        vectors[features.offsets[features.window_lines[row]] + places[counts]] = window[counts]


def extract_lines(
    session: FeaturesSession,
    chunks: Iterable[ExtractionFeatures],
    extraction: Extraction,
    combine: str,
    tokenizer: FullTokenizer,
    writer: Writer,
    archive: zipfile.ZipFile | None,
    progress: Callable[[int], None],
) -> tuple[int, int]:
    """Compute and write all chunks; returns the numbers of lines and of lines that were cut.

    writer: of features_files.open_writer; archive: for the attention, None where it is not asked for; progress is called
    with the number of lines that are done.
    """
    convert, dtype = tokenizer.convert_ids_to_tokens, "<f2" if extraction.float16 else "<f4"
    lines = cut = 0
    for features in chunks:
        vectors, attention = session.extract(features)
        writer.write(feature_rows(vectors, features, extraction.pooling, combine, extraction.normalize, convert))
        if archive:
            ends = features.offsets.tolist()
            tokens = [convert(features.token_ids[start:end].tolist()) for start, end in itertools.pairwise(ends)]
            write_attention(archive, features.first_line, tokens, attention, dtype)
        lines, cut = lines + len(features), cut + features.num_truncated
        progress(features.first_line + len(features))
    return lines, cut


def write_features(
    session: FeaturesSession,
    settings: ExtractSettings,
    model: AnyModel,
    tokenizer: FullTokenizer,
    form: Form,
    combine: str,
    source: str,
    target: str,
    done: int = 0,
    facts: dict[str, str] | None = None,
) -> int:
    """Write the file `target` of the lines of `source`; returns how many lines there were.

    form, combine: of extraction_plan.form_of. done, facts: see features_files.open_writer.
    """
    extraction, attentions, length = settings.extraction, settings.attention.attentions, settings.length.max_seq_length
    limits = plan.chunk_limits(model.config, len(form.layers), form.kind == "line", bool(attentions))
    with contextlib.ExitStack() as stack:
        texts, total = stack.enter_context(plan.open_texts(source, target, done))
        if done:
            LOG.info("going on behind line %d of %s.partial", done, target)
        chunks = extraction_chunks(texts, tokenizer, length, extraction.long_text, extraction.words, **limits)
        chunks = plan.checked_first(chunks, source, model.vocabulary, settings.model.strict)
        writer = stack.enter_context(open_writer(target, extraction.output_format, form, done, facts))
        archive = stack.enter_context(open_archive(attentions)) if attentions else None
        began = time.monotonic()
        progress = plan.reporter(total, done, stack)
        lines, cut = extract_lines(session, chunks, extraction, combine, tokenizer, writer, archive, progress)
        rate = lines / (time.monotonic() - began)
    LOG.info("%d lines, %.1f a second", lines, rate)
    if cut:
        LOG.warning("warning: %d of %d lines were cut to %d tokens; --long_text cuts none", cut, lines, length)
    return lines


def show_attention(session: FeaturesSession, asked: Attention, tokenizer: FullTokenizer, max_seq_length: int) -> None:
    """Print the strongest links of one text: asked.show_attention."""
    features = next(extraction_chunks([split_line(asked.show_attention)], tokenizer, max_seq_length))
    tokens = tokenizer.convert_ids_to_tokens(features.token_ids.tolist())
    attention = session.extract(features)[1][0][asked.layer]
    heads = attention.mean(axis=0) if asked.head is None else attention[asked.head]
    for probability, source, target in strongest_links(heads, tokens, asked.top_k):
        print(f"{probability:.4f}  {source} -> {target}")
    sys.stdout.flush()
