"""Fill the blanks of a text with a pre-trained BERT, and tell whether one sentence follows another.

    bert-fill-mask "the man went to the [MASK] ." --init_checkpoint=pretrained

prints the most probable words for each [MASK] with their probabilities. "FIRST ||| SECOND" also gets the probability that
the second text follows the first. With --input_file=texts.txt, a text a line, the answers are JSON, one object a line:
{"text": …, "masks": [[{"token": …, "probability": …}, …], …], "next_sentence_probability": …}
"""

import contextlib
import dataclasses
import json
import logging
import sys
from collections.abc import Iterator

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.features.fill_mask import MaskedText, masked_text
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.outputs.fill_mask import fill_mask_record, format_record
from bert_cli.runs import sources
from bert_cli.settings.flags import CommandFlags, define_device_flags, define_gelu_flag, run_command
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.training.host import prepare_host
from bert_cli.weights.path import find_checkpoint

LOG = logging.getLogger("bert_cli")
_CHUNK = 512  # texts that are read and computed at a time


@dataclasses.dataclass(frozen=True)
class Settings:
    """The flags of bert-fill-mask; see define_flags for their meaning."""

    texts: tuple[str, ...] = ()
    input_file: str | None = None
    output_file: str = files.STANDARD
    init_checkpoint: str = "bert_output"
    vocab_file: str | None = None
    bert_config_file: str | None = None
    do_lower_case: bool | None = None
    gelu: str = "auto"
    top_k: int = 5
    batch_size: int = 32
    distribution_strategy: str = "auto"
    precision: str = "auto"
    use_tpu: bool = False
    tpu_name: str | None = None
    tpu_zone: str | None = None
    gcp_project: str | None = None


def define_flags(flags: CommandFlags) -> None:
    flags.words("texts", "texts with [MASK] in them, or two texts with ' ||| ' between, each in quotes")
    flags.section("Texts")
    flags.string("input_file", None, "a file with a text a line, - for standard input; the answers are JSON lines")
    flags.string("output_file", files.STANDARD, "file for the JSON lines, - for standard output")
    flags.integer("top_k", 5, "candidates for each [MASK]", lower=1)
    flags.integer("batch_size", 32, "texts that are computed at once", lower=1)
    flags.section("Model")
    flags.string(
        "init_checkpoint", "bert_output", "a pre-trained model: output_dir of bert-pretrain, a TF1 checkpoint, or a Hugging "
        "Face folder with masked-LM head",
    )  # fmt: skip
    flags.string("vocab_file", None, "vocab.txt; default: beside the checkpoint")
    flags.string("bert_config_file", None, "bert_config.json; default: beside the checkpoint")
    flags.boolean("do_lower_case", True, "lower-case the text and strip accents; default: as the model was trained")
    define_gelu_flag(flags)
    define_device_flags(flags)


def settings_from_flags(values: dict, given: frozenset[str]) -> Settings:
    """Flags -> Settings: do_lower_case is None where it was not given."""
    values = {field.name: values[field.name] for field in dataclasses.fields(Settings)}
    if bool(values["texts"]) == bool(values["input_file"]):
        raise InputError('give texts, such as "the man went to the [MASK] .", or --input_file=FILE')
    if "output_file" in given and not values["input_file"]:
        raise InputError("--output_file is for --input_file")
    values["do_lower_case"] = values["do_lower_case"] if "do_lower_case" in given else None
    return Settings(**values)


def read_texts(settings: Settings) -> Iterator[tuple[str, str]]:
    """(place for error messages, text) of each text; blank lines of a file are passed over."""
    if settings.texts:
        yield from ((f"text {number}", text) for number, text in enumerate(settings.texts, start=1))
        return
    if settings.input_file != files.STANDARD:
        files.check_readable(settings.input_file, "input_file")
    name = files.input_name(settings.input_file)
    with files.open_lines(settings.input_file) as lines:
        for number, line in enumerate(lines, start=1):
            if text := line.strip():
                yield f"{name}:{number}", text


def answers(session, texts: Iterator[tuple[str, str]], tokenizer: FullTokenizer, positions: int) -> Iterator[dict]:
    """One record for each text, in order; `positions` are those of the model."""
    chunk: list[tuple[str, MaskedText]] = []
    for place, text in texts:
        masked = masked_text(text, tokenizer, positions, place)
        if masked.is_pair:
            session.check_next_sentence(place)
        chunk.append((text, masked))
        if len(chunk) == _CHUNK:
            yield from _answer_chunk(session, chunk, tokenizer)
            chunk = []
    if chunk:
        yield from _answer_chunk(session, chunk, tokenizer)


def _answer_chunk(session, chunk: list[tuple[str, MaskedText]], tokenizer: FullTokenizer) -> Iterator[dict]:
    masked = [text for _, text in chunk]
    sequences = RaggedFeatures(
        np.concatenate([text.token_ids for text in masked]).astype(np.int32),
        np.concatenate([text.segment_ids for text in masked]).astype(np.int8),
        np.cumsum([0, *(len(text.token_ids) for text in masked)]),
    )
    most = max(1, *(len(text.positions) for text in masked), 1)
    positions = np.array([text.positions + [0] * (most - len(text.positions)) for text in masked], np.int32)
    results = session.fill(sequences, positions)
    for row, (text, found) in enumerate(chunk):
        count = len(found.positions)
        tokens = [tokenizer.convert_ids_to_tokens(ids) for ids in results["candidates"][row, :count].tolist()]
        follows = float(results["follows"][row]) if found.is_pair else None
        yield fill_mask_record(text, tokens, results["probabilities"][row, :count], follows)


def run(settings: Settings) -> list[dict]:
    """Do what the settings say; returns the records of texts that were given as words, else an empty list."""
    if settings.output_file != files.STANDARD:
        files.check_can_write(settings.output_file.rpartition("/")[0] or ".", "output_file")
    checkpoint = find_checkpoint(settings.init_checkpoint)
    model, config, vocabulary, tokenizer = sources.open_model(settings, checkpoint, 3, needs_bert=True)
    positions, texts = config.max_position_embeddings, read_texts(settings)
    if settings.texts:  # told before TensorFlow takes its seconds
        for place, text in read_texts(settings):
            masked_text(text, tokenizer, positions, place)

    prepare_host()
    from bert_cli.runs.fill_mask import FillMaskSession

    session = FillMaskSession(
        config, settings, settings.batch_size, min(settings.top_k, vocabulary.size), vocabulary.size
    )
    session.load(checkpoint, trained_without=model.saved_flags.get("no_nsp") == "true")
    if settings.texts:
        records = list(answers(session, texts, tokenizer, positions))
        for record in records:
            print("\n".join(format_record(record)), flush=True)
        return records
    with contextlib.ExitStack() as stack:
        to_file = settings.output_file != files.STANDARD
        target = stack.enter_context(files.atomic_write(settings.output_file)) if to_file else sys.stdout
        for record in answers(session, texts, tokenizer, positions):
            target.write(json.dumps(record, ensure_ascii=False) + "\n")
    return []


def main(arguments: list[str] | None = None) -> int:
    """The command; `arguments` default to those of the process. Returns its exit code."""
    return run_command(
        "bert-fill-mask",
        __doc__,
        define_flags,
        lambda values, given: run(settings_from_flags(values, given)),
        arguments,
        interrupted="give the same command again",
    )


if __name__ == "__main__":
    raise SystemExit(main())
