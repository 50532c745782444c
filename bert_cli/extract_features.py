"""Extract vectors of tokens, words or texts from a pre-trained BERT.

Token vectors are written as by Google's extract_features.py. A line of the input is a text, or a
pair separated by ' ||| '. Empty lines count: line i of the output belongs to line i of the input.
Several input files (--input_file='part-*.txt') get one output each, and --shard divides them among
processes. Without --init_checkpoint the built-in model is used, as in the examples.

--show_attention="the cat sees a dog" prints the strongest attention links of a text, and does
nothing else. With --attention_of=cat it prints the words that "cat" attends to, and with
--attention_map=map.html it writes heat maps of all layers and heads.

Examples:

    bert-extract-features --input_file=data/pretraining/corpus.txt \\
      --output_file=bert_output/features.jsonl --layers=-1,-2
    bert-extract-features --input_file=data/pretraining/corpus.txt \\
      --output_file=bert_output/vectors.npy --output_format=npy \\
      --pooling=mean
"""

import functools
import os
from typing import Any

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.log import LOG
from bert_cli.base.names import STANDARD
from bert_cli.examples.table_files.formats import is_table
from bert_cli.features.layer_choice import parse_layers
from bert_cli.features.packing import check_max_seq_length
from bert_cli.flags.command import Command
from bert_cli.model.config import ModuleConfig
from bert_cli.outputs.vectors.files import is_whole, lines_to_skip, partial_name
from bert_cli.runs.extraction.extractor import VectorChoice
from bert_cli.runs.extraction.lines import open_extractor, plan, write_features
from bert_cli.runs.extraction.shown_attention import check_map, show_attention
from bert_cli.runs.loading.checkpoints import builtin_message, encoder_checkpoint
from bert_cli.runs.loading.loader import load_model
from bert_cli.settings.checks import check_hub, check_shards, check_table_flags
from bert_cli.settings.devices import check_engine
from bert_cli.settings.texts import ExtractSettings


def check(values: dict[str, Any], given_names: frozenset[str]) -> dict[str, Any]:
    """Return the flag values; raise InputError for contradictory flags."""
    check_hub(values)
    check_engine(values)
    if values["show_attention"]:
        check_map(values["attention_map"])
        return values
    for name in ("attention_of", "attention_map"):
        refuse_if(values[name], f"--{name} is for --show_attention=TEXT")
    for name in ("input_file", "output_file"):
        if not values[name]:
            raise InputError(f"--{name} is needed; - is for the standard {name.removesuffix('_file')}")
    check_table_flags(given_names, is_table(values["input_file"]))
    check_shards(values, given_names, {"input_file": "output_file"})
    output_format = values["output_format"]
    output_file = values["output_file"]
    resume = values["resume"]
    is_jsonl = output_format == "jsonl"
    is_pooled = values["pooling"] != "none"
    to_standard = output_file == STANDARD
    for is_wrong, message in (
        (values["words"] and is_pooled, "--words gives vectors of words, --pooling one of the line; leave one of them out"),
        (values["pooling"] == "pooler" and values["layers"], "--pooling=pooler is of the last layer; leave --layers out"),
        (output_format == "npy" and not is_pooled, "--output_format=npy holds one vector a line: add --pooling=mean, or take "
         "npz"),
        (values["float16"] and output_format in ("jsonl", "tfrecord"), f"--float16: {output_format} has no such numbers; "
         "leave it out, or take npz, npy or parquet"),
        (to_standard and not is_jsonl, "--output_file=-: only jsonl can go there; give a file"),
        (resume and (not is_jsonl or to_standard or files.is_remote(output_file)),
         "--resume is for JSON lines in a local file"),
        (values["attentions"] and resume, "--attentions cannot be resumed; leave --resume out"),
        (values["attentions"] and values["long_text"], "--attentions is of whole lines; leave --long_text out"),
    ):  # fmt: skip
        if is_wrong:
            raise InputError(message)
    return values


def run(settings: ExtractSettings) -> int:
    """Extract vectors or show attention, and return the number of lines written."""
    extraction = settings.extraction
    attention = settings.attention
    max_seq_length = settings.encoding.max_seq_length
    input_file, output_file = settings.files.input_file, settings.files.output_file
    shows_attention = bool(attention.show_attention)
    is_sharded = not shows_attention and files.is_pattern(input_file)
    if not (shows_attention or is_sharded):
        plan.check_files(input_file, output_file, attention.attentions, extraction.output_format)
    check_max_seq_length(max_seq_length, pairs=extraction.long_text)
    checkpoint = encoder_checkpoint(settings.model, settings.hub.hub_module)
    model = load_model(settings.model, checkpoint, max_seq_length, settings.hub)
    if settings.hub.hub_module and settings.model.init_checkpoint and not isinstance(model.config, ModuleConfig):
        raise InputError("--hub_module and --init_checkpoint: both name a model to start from; give one of them")
    if line := builtin_message(checkpoint, model.config):
        LOG.info(line)
    layers = parse_layers(plan.layers_text(extraction, attention), model.config.num_hidden_layers)
    vector_format = plan.choose_format(extraction, layers, model.config.hidden_size)
    plan.check_attention(attention, model.config, layers)
    if not shows_attention and extraction.resume and is_whole(output_file):
        LOG.info("%s is whole: nothing is left to do; remove it to compute it again", output_file)
        return 0
    shards = plan.plan_shards(settings, model) if is_sharded else None
    shards_to_do = shards.find_unfinished() if shards else []
    if shards and not shards_to_do:
        return 0

    with_attention = shows_attention or bool(attention.attentions)
    layer_indices = [layer.place for layer in layers]
    batch_size = settings.devices.batch_size
    devices = settings.devices.without_workers() if shards else settings.devices
    choice = VectorChoice(extraction.pooling, layer_indices, max_seq_length, batch_size, with_attention)
    session = open_extractor(model, devices, choice, settings.model.strict)
    if shows_attention:
        session.load(checkpoint)
        show_attention(session, attention, model.tokenizer, checkpoint.name)
        return 0
    write = functools.partial(write_features, session, settings, model, vector_format)
    if shards:
        session.load(checkpoint)
        return sum(write(shard.source, shard.targets[0]) for shard in shards.iterate(shards_to_do))
    facts = plan.resume_facts(settings, model, session.precision)
    num_done_lines = lines_to_skip(output_file, facts) if extraction.resume else 0
    session.load(checkpoint)
    return write(input_file, output_file, num_done_lines, facts)


def _after_interruption(settings: ExtractSettings) -> str:
    """Return the advice after Ctrl-C; --resume helps only if some JSON lines were written."""
    can_resume = settings.extraction.output_format == "jsonl" and not settings.attention.attentions
    if can_resume and os.path.exists(partial_name(settings.files.output_file)):
        return "the same command with --resume goes on from the lines that are written"
    return "give the same command again"


main = Command("bert-extract-features", __doc__, ExtractSettings, run, check, interrupted=_after_interruption)


if __name__ == "__main__":
    raise SystemExit(main())
