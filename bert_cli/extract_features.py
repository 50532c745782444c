"""Vectors of texts from a pre-trained BERT: of each token, as Google's extract_features.py writes them, of each word, or one
for each text.

    bert-extract-features --input_file=texts.txt --output_file=features.jsonl --init_checkpoint=pretrained
    bert-extract-features --input_file=- --output_file=vectors.npy --pooling=mean --output_format=npy \
        --init_checkpoint=pretrained
    bert-extract-features --show_attention="the cat sees a dog" --init_checkpoint=pretrained --layer=5

A line of the input is a text, or two with ' ||| ' between; blank lines count, so that line i of the output is that of line i.
"""

import contextlib
import itertools
import logging
import os
import sys
import time
import zipfile
from collections.abc import Iterator

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.names import STANDARD
from bert_cli.base.writing import atomic_write
from bert_cli.examples.text_lines import read_text_lines, split_line
from bert_cli.features.extraction import ExtractionFeatures, extraction_chunks
from bert_cli.features.layer_choice import parse_layers
from bert_cli.features.packing import check_max_seq_length
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.outputs.features_arrays import strongest_links, write_attention
from bert_cli.outputs.features_files import Form, check_format, lines_to_skip, open_writer
from bert_cli.outputs.features_rows import feature_rows
from bert_cli.outputs.progress import Progress
from bert_cli.runs import sources
from bert_cli.runs.features_settings import Settings, define_flags, settings_from_flags
from bert_cli.settings.flags import run_command
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.training.host import prepare_host
from bert_cli.weights.path import find_checkpoint

LOG = logging.getLogger("bert_cli")
_CHUNK_LINES = 8192
_CHUNK_NUMBERS = 1 << 24  # float32 that are held at once: 64 MB
_REMEMBERED = 1 << 14  # words: the tokenizer is never what takes the time here


def _check_files(settings: Settings) -> None:
    if settings.input_file != STANDARD:
        files.check_readable(settings.input_file, "input_file")
    targets = [path for path in (settings.output_file, settings.attentions) if path and path != STANDARD]
    files.check_output_files(targets, [settings.input_file])
    if len({os.path.realpath(path) for path in targets}) < len(targets):
        raise InputError("--attentions: is the same file as --output_file; give another")
    check_format(settings.output_format)


@contextlib.contextmanager
def _input(settings: Settings, done: int) -> Iterator[tuple[Iterator, int | None]]:
    """The texts from line `done` on, and the number of all lines where it can be known."""
    if settings.input_file == STANDARD:
        yield read_text_lines(sys.stdin.buffer, "standard input", done), None
        return
    total, last = 0, b"\n"
    with files.open_binary(settings.input_file) as file:
        while block := file.read(1 << 20):
            total, last = total + block.count(b"\n"), block[-1:]
    total += last != b"\n"
    if done > total:
        raise InputError(f"{settings.output_file}.partial: has more lines than --input_file; leave --resume out")
    with files.open_binary(settings.input_file) as file:
        yield read_text_lines(file, settings.input_file, done), total


def _form(settings: Settings, layers: list, config: BertConfig | ModuleConfig) -> tuple[Form, str]:
    """What is written, and how layers are combined."""
    kind = "word" if settings.words else "token" if settings.pooling == "none" else "line"
    combine = "concat" if kind == "line" and settings.combine == "none" else settings.combine
    indices = tuple(layer.index for layer in layers)
    if settings.output_format in ("parquet", "tfrecord") and combine == "none" and len(set(indices)) < len(indices):
        raise InputError(f"--layers={settings.layers}: names a layer twice, and each is one column; leave one out")
    width = config.hidden_size * (len(layers) if combine == "concat" else 1)
    return Form(kind, indices, combine != "none", width, "<f2" if settings.float16 else "<f4"), combine


def _remembered(settings: Settings, checkpoint) -> dict:
    """What the runs that write one file must have in common."""
    same = (
        "layers",
        "pooling",
        "combine",
        "normalize",
        "words",
        "long_text",
        "max_seq_length",
        "do_lower_case",
        "gelu",
    )
    values = {name: getattr(settings, name) for name in same}
    input_file = settings.input_file
    values["input_file"] = input_file if input_file == STANDARD else files.absolute(input_file)
    return values | {"init_checkpoint": checkpoint.identity}


def _show_attention(session, features: ExtractionFeatures, tokens: list[str], settings: Settings) -> None:
    attention = session.extract(features)[1][0][settings.layer]
    heads = attention.mean(axis=0) if settings.head is None else attention[settings.head]
    for probability, source, target in strongest_links(heads, tokens, settings.top_k):
        print(f"{probability:.4f}  {source} -> {target}")
    sys.stdout.flush()


def _check_layers(settings: Settings, config: BertConfig | ModuleConfig, chosen: list) -> None:
    """InputError for a layer or a head that the model does not show."""
    wants_attention = settings.attentions or settings.show_attention is not None
    if isinstance(config, ModuleConfig):
        if wants_attention or any(layer.place == 0 for layer in chosen):
            raise InputError(f"{config.hub_module}: this module shows neither attention nor its embedding")
        return
    if not wants_attention:
        return
    layers, heads = config.num_hidden_layers, config.num_attention_heads
    if not -layers <= settings.layer < layers:
        raise InputError(f"--layer={settings.layer}: this model has the layers 0 to {layers - 1}, or -{layers} to -1")
    if settings.head is not None and not 0 <= settings.head < heads:
        raise InputError(f"--head={settings.head}: this model has the heads 0 to {heads - 1}")


def _extract(
    session, chunks, settings: Settings, combine: str, tokenizer, writer, archive, progress
) -> tuple[int, int]:
    """Compute and write all chunks; returns the numbers of lines and of lines that were cut."""
    lines = cut = 0
    for features in chunks:
        vectors, attention = session.extract(features)
        writer.write(
            feature_rows(
                vectors, features, settings.pooling, combine, settings.normalize, tokenizer.convert_ids_to_tokens
            )
        )
        if archive:
            ends = features.offsets.tolist()
            ids = [features.token_ids[start:end].tolist() for start, end in itertools.pairwise(ends)]
            tokens = [tokenizer.convert_ids_to_tokens(row) for row in ids]
            write_attention(archive, features.first_line, tokens, attention, "<f2" if settings.float16 else "<f4")
        lines, cut = lines + len(features), cut + features.num_truncated
        progress(features.first_line + len(features))
    return lines, cut


def _reporter(total: int | None, done: int, stack: contextlib.ExitStack):
    """A function of the number of lines that are done, for the log."""
    if total:
        return stack.enter_context(Progress("features", total, done, max(1, total // 10), unit="lines")).update
    began = time.monotonic()
    return lambda count: LOG.info("features %d  lines/s %.1f", count, (count - done) / (time.monotonic() - began))


def run(settings: Settings) -> int:
    """Do what the settings say; returns the number of lines that were written."""
    shown = settings.show_attention is not None
    if not shown:
        _check_files(settings)
    check_max_seq_length(settings.max_seq_length, pairs=settings.long_text)
    if settings.hub_module and not settings.init_checkpoint:
        checkpoint = sources.find_module(settings.hub_module, "hub_module")
    else:
        checkpoint = find_checkpoint(settings.init_checkpoint)
    model = sources.open_model(settings, checkpoint, settings.max_seq_length, settings.hub_preprocess)
    config, vocabulary = model.config, model.vocabulary
    if settings.hub_module and settings.init_checkpoint and not isinstance(config, ModuleConfig):
        raise InputError("--hub_module and --init_checkpoint: both name a model to start from; give one of them")
    default = "-1" if shown or settings.words or settings.pooling != "none" else "-1,-2,-3,-4"
    layers = parse_layers(settings.layers or default, config.num_hidden_layers)
    form, combine = _form(settings, layers, config)
    _check_layers(settings, config, layers)
    tokenizer = FullTokenizer(vocabulary, model.tokenizer.do_lower_case, _REMEMBERED)
    remembered = {} if shown else _remembered(settings, checkpoint)
    if (
        settings.resume
        and os.path.exists(settings.output_file)
        and not os.path.exists(f"{settings.output_file}.partial")
    ):
        LOG.info("%s is whole: nothing is left to do; remove it to compute it again", settings.output_file)
        return 0
    done = lines_to_skip(settings.output_file, remembered) if settings.resume else 0

    prepare_host()
    from bert_cli.runs.extraction import FeaturesSession

    with_attention = shown or bool(settings.attentions)
    session = FeaturesSession(
        config,
        settings,
        [layer.place for layer in layers],
        settings.pooling,
        settings.max_seq_length,
        settings.batch_size,
        with_attention,
    )
    session.load(checkpoint)
    token_cost = 0 if form.kind == "line" else len(layers) * config.hidden_size
    pair_cost = config.num_hidden_layers * config.num_attention_heads if with_attention else 0
    options = {"long_text": settings.long_text, "words": settings.words, "max_lines": _CHUNK_LINES}
    options |= {"cost": lambda tokens: tokens * (token_cost + tokens * pair_cost), "max_cost": _CHUNK_NUMBERS}
    if shown:
        features = next(extraction_chunks([split_line(settings.show_attention)], tokenizer, settings.max_seq_length))
        _show_attention(session, features, tokenizer.convert_ids_to_tokens(features.token_ids.tolist()), settings)
        return 0
    with contextlib.ExitStack() as stack:
        texts, total = stack.enter_context(_input(settings, done))
        if done:
            LOG.info("going on behind line %d of %s.partial", done, settings.output_file)
        writer = stack.enter_context(open_writer(settings.output_file, settings.output_format, form, done, remembered))
        archive = None
        if settings.attentions:
            file = stack.enter_context(atomic_write(settings.attentions, "wb"))
            archive = stack.enter_context(zipfile.ZipFile(file, "w"))
        chunks = extraction_chunks(texts, tokenizer, settings.max_seq_length, **options)
        began = time.monotonic()
        progress = _reporter(total, done, stack)
        lines, cut = _extract(session, chunks, settings, combine, tokenizer, writer, archive, progress)
        rate = lines / (time.monotonic() - began)
    LOG.info("%d lines, %.1f a second", lines, rate)
    if cut:
        LOG.warning(
            "warning: %d of %d lines were cut to %d tokens; --long_text cuts none", cut, lines, settings.max_seq_length
        )
    return lines


def main(arguments: list[str] | None = None) -> int:
    """The command; `arguments` default to those of the process. Returns its exit code."""
    return run_command(
        "bert-extract-features",
        __doc__,
        define_flags,
        lambda values, given: run(settings_from_flags(values, given)),
        arguments,
        interrupted="the same command with --resume goes on where JSON lines are written",
    )


if __name__ == "__main__":
    raise SystemExit(main())
