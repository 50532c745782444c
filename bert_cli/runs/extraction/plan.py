"""What bert-extract-features reads and writes, how much of it at a time, and what runs that are
resumed have in common.

Imports no TensorFlow: what is wrong with the files or does not suit the model is reported at once.
"""

import contextlib
import dataclasses
import itertools
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.lines import input_name
from bert_cli.base.log import LOG
from bert_cli.base.names import STANDARD
from bert_cli.base.recoding import as_utf8, with_line_feeds
from bert_cli.examples.table_files.formats import is_table
from bert_cli.examples.table_texts import read_table_texts
from bert_cli.examples.text_lines import TextLine, read_text_lines
from bert_cli.features.extraction import ExtractionFeatures
from bert_cli.features.layer_choice import Layer
from bert_cli.flags.option import flag_values
from bert_cli.flags.parser import format_value
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.outputs.progress import Progress
from bert_cli.outputs.vectors.files import check_format, partial_name
from bert_cli.outputs.vectors.rows import VectorFormat
from bert_cli.runs.loading.bundle import AnyModel
from bert_cli.runs.loading.checks import check_first_unknown
from bert_cli.runs.output_dir.shards import ShardPlan
from bert_cli.settings.groups import LAST_LAYER, LAST_LAYERS, ModelFiles
from bert_cli.settings.texts import Attention, Extraction, ExtractSettings
from bert_cli.text.vocabulary import Vocabulary

MAX_LINES = 8192  # that are held at once
MAX_NUMBERS = 1 << 24  # float32 that are held at once: 64 MB


def check_files(input_file: str, output_file: str, attentions: str | None, output_format: str) -> None:
    """InputError unless the texts can be read, and the files be written, none of them over another."""
    if input_file != STANDARD:
        files.check_readable(input_file, "input_file")
    # Standard output is no file that another could be written over.
    targets = [path for path in (output_file, attentions) if path and path != STANDARD]
    files.check_output_files(targets, [input_file])
    if len({files.resolve(path) for path in targets}) < len(targets):
        raise InputError("--attentions: is the same file as --output_file; give another")
    check_format(output_format)


def layers_text(extraction: Extraction, attention: Attention) -> str:
    """--layers, or its default."""
    one = attention.show_attention or extraction.words or extraction.pooling != "none"
    return extraction.layers or (LAST_LAYER if one else LAST_LAYERS)


def check_attention(attention: Attention, config: BertConfig | ModuleConfig, chosen: Sequence[Layer]) -> None:
    """InputError for a layer or a head that the model does not show."""
    wanted = attention.attentions or attention.show_attention
    # A module gives encoder_outputs, of which the embedding is none.
    if isinstance(config, ModuleConfig):
        if wanted or any(layer.place == 0 for layer in chosen):
            raise InputError(f"{config.hub_module}: this module shows neither attention nor its embedding")
        return
    if not wanted:
        return
    layers, heads = config.num_hidden_layers, config.num_attention_heads
    if not -layers <= attention.layer < layers:
        raise InputError(f"--layer={attention.layer}: this model has the layers 0 to {layers - 1}, or -{layers} to -1")
    if attention.head is not None and not 0 <= attention.head < heads:
        raise InputError(f"--head={attention.head}: this model has the heads 0 to {heads - 1}")


def combination(extraction: Extraction) -> str:
    """How layers are combined; a line has one vector in any case."""
    has_lines = extraction.pooling != "none" and not extraction.words
    return "concat" if has_lines and extraction.combine == "none" else extraction.combine


def form_of(extraction: Extraction, layers: Sequence[Layer], hidden_size: int) -> VectorFormat:
    """What is written. InputError for columns of the same name."""
    kind = "word" if extraction.words else "token" if extraction.pooling == "none" else "line"
    combine = combination(extraction)
    # As they were asked for: -1 stays -1 in JSON lines, as in Google's.
    indices = tuple(layer.asked for layer in layers)
    if extraction.output_format in ("parquet", "tfrecord") and combine == "none" and len(set(indices)) < len(indices):
        raise InputError(f"--layers={extraction.layers}: names a layer twice, and each is one column; leave one out")
    width = hidden_size * (len(layers) if combine == "concat" else 1)
    return VectorFormat(kind, indices, combine != "none", width, "<f2" if extraction.float16 else "<f4")


def chunk_limits(
    config: BertConfig | ModuleConfig,
    num_layers: int,
    is_pooled: bool,
    with_attention: bool = False,
) -> dict[str, Any]:
    """The bounds of extraction_chunks that hold memory down: max_lines, cost and max_cost, in
    float32 numbers.
    """
    vectors = 0 if is_pooled else num_layers * config.hidden_size
    # Attention grows with the square of a line's tokens, vectors with their number.
    pairs = 0
    if with_attention and isinstance(config, BertConfig):
        pairs = config.num_hidden_layers * config.num_attention_heads

    def cost(tokens: int) -> int:
        return tokens * (vectors + tokens * pairs)

    return {"max_lines": MAX_LINES, "cost": cost, "max_cost": MAX_NUMBERS}


def resume_facts(settings: ExtractSettings, model: AnyModel, precision: str) -> dict[str, str]:
    """By flag, all that decides the numbers of an output: what the runs that write one file must
    have in common.

    precision: the dtype that is computed in.
    """
    # Formats and batch sizes change no number of a vector.
    same = ("layers", "pooling", "combine", "normalize", "words", "long_text")
    values = {name: getattr(settings.extraction, name) for name in same}
    values |= {
        "max_seq_length": settings.encoding.max_seq_length,
        "gelu": settings.model.gelu,
        "precision": precision,
    }
    input_file = settings.files.input_file
    if is_table(input_file):
        values |= {name: value for name, value in dataclasses.asdict(settings.columns).items() if value is not None}
        values |= {"header": settings.data.header, "sheet": settings.data.sheet}
    values["input_file"] = input_file if input_file == STANDARD else files.make_absolute(input_file)
    values |= model.fingerprint
    return {name: format_value(value) for name, value in values.items() if value is not None}


def plan_shards(settings: ExtractSettings, model: AnyModel) -> ShardPlan:
    """What is to be done where --input_file names several files."""
    extraction = settings.extraction
    check_format(extraction.output_format)
    facts = resume_facts(settings, model, settings.devices.precision)
    del facts["input_file"]  # the files themselves are compared
    facts |= {"output_format": extraction.output_format, "float16": format_value(extraction.float16)}
    names = [settings.files.output_file]
    flags = ("input_file", "output_file")
    return ShardPlan(flag_values(settings), flags, names, facts, model.required_checkpoint.file)


class Texts(NamedTuple):
    """The texts to compute.

    Attributes:
        lines: the texts that are left, in order.
        total: number of all lines, or None for standard input.
        identifiers: ids of all lines of a table that has ids, else empty.
    """

    lines: Iterator[TextLine]
    total: int | None
    identifiers: Sequence[str] = ()


@contextlib.contextmanager
def open_texts(settings: ExtractSettings, input_file: str, output_file: str, done: int) -> Iterator[Texts]:
    """Open the texts of a file of lines or of a table, from line `done` on.

    Raise InputError, naming the partial output, if it has more lines than there are.
    """
    form = settings.text_form
    if input_file == STANDARD:
        name = input_name(input_file)
        yield Texts(read_text_lines(as_utf8(sys.stdin.buffer, form.encoding, name), name, done), None)
        return
    if is_table(input_file):
        texts = read_table_texts(input_file, settings.columns, settings.data.header, form)
        _check_done(output_file, done, len(texts))
        yield Texts(iter(texts[done:]), len(texts), [text.identifier for text in texts if text.identifier is not None])
        return
    total = 0
    last = b"\n"
    with files.open_binary(input_file) as file:
        recoded = with_line_feeds(as_utf8(file, form.encoding, input_file), input_file)
        while block := recoded.read(1 << 20):
            total = total + block.count(b"\n")
            last = block[-1:]
    # A last line without its end is a line.
    total += last != b"\n"
    _check_done(output_file, done, total)
    with files.open_binary(input_file) as file:
        recoded = with_line_feeds(as_utf8(file, form.encoding, input_file), input_file, logs=False)
        yield Texts(read_text_lines(recoded, input_file, done), total)


def _check_done(output_file: str, done: int, total: int) -> None:
    if done > total:
        raise InputError(f"{partial_name(output_file)}: has more lines than --input_file; leave --resume out")


def checked_first(
    chunks: Iterator[ExtractionFeatures], input_file: str, vocabulary: Vocabulary, flags: ModelFiles
) -> Iterator[ExtractionFeatures]:
    """The same chunks, of which the first one is made and checked now, before a file is begun that
    an error would leave unfinished.
    """
    first = list(itertools.islice(chunks, 1))
    for features in first:
        check_first_unknown(input_file, features.sequences, vocabulary, flags)
    return itertools.chain(first, chunks)


def reporter(total: int | None, done: int, stack: contextlib.ExitStack) -> Callable[[int], None]:
    """A function of the number of lines that are done, for the log; `total` None: not known."""
    if total:
        return stack.enter_context(Progress("features", total, done, max(1, total // 10), unit="lines")).update
    began = time.monotonic()
    return lambda count: LOG.info("features %d  lines/s %.1f", count, (count - done) / (time.monotonic() - began))
