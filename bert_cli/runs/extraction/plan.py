"""Planning an extraction: input texts, output format, chunk sizes, and conditions for resuming.

This module does not import TensorFlow, so that it reports wrong flags and files immediately.
"""

import contextlib
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.head_types import Layer
from bert_cli.base.log import LOG
from bert_cli.base.names import STANDARD
from bert_cli.base.pooling import NONE
from bert_cli.examples.text_lines import TextLine, read_text_lines
from bert_cli.features.extraction import ExtractionFeatures
from bert_cli.flags.option import flag_values, prediction_values
from bert_cli.flags.values import format_value
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.opening.bundle import AnyModel
from bert_cli.opening.checks import check_first_unknown
from bert_cli.outputs.progress import Progress
from bert_cli.outputs.vectors.files import check_format, partial_name
from bert_cli.outputs.vectors.rows import VectorFormat
from bert_cli.predicting.pooling import pooled_width
from bert_cli.predicting.vector_recipe import VectorFlags, VectorRecipe
from bert_cli.reading.formats import is_table
from bert_cli.reading.source import Source
from bert_cli.runs.engine.shards import ShardPlan
from bert_cli.settings.answering import Extraction
from bert_cli.settings.groups import LAST_LAYER, ModelFiles
from bert_cli.settings.texts import AttentionOutput, ExtractSettings
from bert_cli.text.vocabulary import Vocabulary


def check_extraction_files(input_file: str, output_file: str, attentions: str | None, output_format: str) -> None:
    """Raise InputError if the input cannot be read, or an output cannot be written.

    Args:
        input_file: file to read.
        output_file: file for vectors.
        attentions: file for attention, or None.
        output_format: format for vectors.
    """
    if input_file != STANDARD:
        files.check_readable(input_file, "input_file")
    # Ignore standard output, because it cannot overwrite another file.
    targets = [path for path in (output_file, attentions) if path and path != STANDARD]
    files.check_output_files(targets, [input_file])
    if len({files.resolve(path) for path in targets}) < len(targets):
        raise InputError("--attentions: is the same file as --output_file; give another")
    check_format(output_format)


def vector_flags(settings: ExtractSettings) -> VectorFlags:
    """Return the flags that choose the vectors."""
    extraction = settings.extraction
    # Attention is of the last layer, and of texts without a prompt.
    shows_attention = bool(settings.attention.show_attention)
    return VectorFlags(
        pooling=NONE if shows_attention else extraction.pooling,
        layers=LAST_LAYER if shows_attention else extraction.layers,
        normalize=extraction.normalize,
        max_seq_length=settings.encoding.max_seq_length,
        prompt_name=extraction.prompt_name,
        long_text=extraction.long_text,
        words=extraction.words,
        strict=settings.model.strict,
    )


def check_attention(attention: AttentionOutput, config: BertConfig | ModuleConfig, chosen: Sequence[Layer]) -> None:
    """Raise InputError for a layer or a head that the model does not provide.

    Args:
        chosen: layers for vectors.
    """
    needs_attention = attention.attentions or attention.show_attention
    # A tensorflow-hub module returns neither attention nor embeddings.
    if isinstance(config, ModuleConfig):
        if needs_attention or any(layer.place == 0 for layer in chosen):
            raise InputError(f"{config.hub_module}: this module shows neither attention nor its embedding")
        return
    if not needs_attention:
        return
    layers, heads = config.num_hidden_layers, config.num_attention_heads
    if not -layers <= attention.layer < layers:
        raise InputError(f"--layer={attention.layer}: this model has the layers 0 to {layers - 1}, or -{layers} to -1")
    if attention.head is not None and not 0 <= attention.head < heads:
        raise InputError(f"--head={attention.head}: this model has the heads 0 to {heads - 1}")


def choose_combination(combine: str, recipe: VectorRecipe) -> str:
    """Return how to combine layers; a line always has one vector, so use "concat" for "none"."""
    return "concat" if recipe.pooling != NONE and combine == "none" else combine


def choose_format(
    extraction: Extraction, recipe: VectorRecipe, layers: Sequence[Layer], hidden_size: int
) -> VectorFormat:
    """Return the format for the vectors.

    Args:
        extraction: flags for the vectors.
        recipe: the vectors to compute.
        layers: chosen layers.
        hidden_size: the model's width.

    Raises:
        InputError: if two columns would have the same name.
    """
    unit = "token" if recipe.pooling == NONE else "line"
    if recipe.words:
        unit = "word"
    combine = choose_combination(extraction.combine, recipe)
    # Use the indices from the flag: like Google's script, write -1 as -1.
    indices = tuple(layer.asked for layer in layers)
    if extraction.output_format in ("parquet", "tfrecord") and combine == "none" and len(set(indices)) < len(indices):
        raise InputError(f"--layers={extraction.layers}: names a layer twice, and each is one column; leave one out")
    width = recipe.width(pooled_width(recipe.pooling, len(layers) if combine == "concat" else 1, hidden_size))
    return VectorFormat(unit, indices, combine != "none", width, "<f2" if extraction.float16 else "<f4")


def resume_facts(settings: ExtractSettings, model: AnyModel, recipe: VectorRecipe, precision: str) -> dict[str, str]:
    """Return all facts that determine the vectors, by flag name.

    A run may only resume another's output if these are equal.

    Args:
        recipe: the vectors to compute.
        precision: dtype for the computation.
    """
    input_file = settings.files.input_file
    values = prediction_values(settings, is_table(input_file)) | recipe.facts() | {"precision": precision}
    values["input_file"] = input_file if input_file == STANDARD else files.make_absolute(input_file)
    values |= model.fingerprint
    return {name: format_value(value) for name, value in values.items() if value is not None}


def plan_vector_shards(settings: ExtractSettings, model: AnyModel, recipe: VectorRecipe) -> ShardPlan:
    """Return the plan for several input files.

    Args:
        recipe: the vectors to compute.
    """
    extraction = settings.extraction
    check_format(extraction.output_format)
    shared_facts = resume_facts(settings, model, recipe, settings.devices.precision)
    # Leave out the input files, because a shard plan compares them anyway.
    del shared_facts["input_file"]
    shared_facts |= {"output_format": extraction.output_format, "float16": format_value(extraction.float16)}
    names = [settings.files.output_file]
    flags = ("input_file", "output_file")
    return ShardPlan(flag_values(settings), flags, names, shared_facts, model.required_checkpoint.file)


class OpenedTexts(NamedTuple):
    """Input texts.

    Attributes:
        lines: remaining texts, in order.
        total: line count, or None for standard input.
        identifiers: ids by line; empty if the input has no ids.
    """

    lines: Iterator[TextLine]
    total: int | None
    identifiers: Sequence[str] = ()


def open_texts(settings: ExtractSettings, input_file: str, output_file: str, done: int) -> OpenedTexts:
    """Return the texts in a file of lines or a table.

    Args:
        input_file: file to read.
        output_file: file to write, for messages.
        done: number of lines to skip, which an interrupted run has written.

    Raises:
        InputError: if `done` is larger than the number of lines.
    """
    form = settings.text_form
    if input_file == STANDARD:
        return OpenedTexts(read_text_lines(Source(input_file, form.encoding), done), None)
    if is_table(input_file):
        # Import late: lines need no readers for tables, which take a tenth of the import time.
        from bert_cli.examples.table_texts import read_table_texts

        texts = read_table_texts(input_file, settings.columns, settings.data.header, form)
        _check_done(output_file, done, len(texts))
        return OpenedTexts(
            iter(texts[done:]), len(texts), [text.identifier for text in texts if text.identifier is not None]
        )
    source = Source(input_file, form.encoding, "input_file")
    total = source.count_lines()
    _check_done(output_file, done, total)
    return OpenedTexts(read_text_lines(source, done), total)


def _check_done(output_file: str, done: int, total: int) -> None:
    if done > total:
        raise InputError(f"{partial_name(output_file)}: has more lines than --input_file; leave --resume out")


def check_first_chunk(
    chunks: Iterator[ExtractionFeatures], input_file: str, vocabulary: Vocabulary, flags: ModelFiles
) -> Iterator[ExtractionFeatures]:
    """Return the same chunks, after making and checking the first one.

    Call this before opening the output, which an error would leave unfinished.

    Args:
        input_file: file with the texts, for messages.
        flags: flags with model files, for messages.
    """
    first_chunk = list(itertools.islice(chunks, 1))
    for features in first_chunk:
        check_first_unknown(input_file, features.sequences, vocabulary, flags)
    return itertools.chain(first_chunk, chunks)


def make_reporter(total: int | None, done: int, stack: contextlib.ExitStack) -> Callable[[int], None]:
    """Return a function that reports progress, called with the number of finished lines.

    Args:
        total: number of all lines, or None if unknown.
        done: number of lines that were finished before.
        stack: closes the progress bar.
    """
    if total:
        return stack.enter_context(Progress("features", total, done, max(1, total // 10), unit="lines")).update
    start_time = time.monotonic()
    return lambda count: LOG.info("features %d  lines/s %.1f", count, (count - done) / (time.monotonic() - start_time))
