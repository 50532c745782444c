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

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.head_types import parse_layers
from bert_cli.base.log import LOG
from bert_cli.base.pooling import NONE
from bert_cli.features.packing import check_max_seq_length
from bert_cli.flags.command import Command
from bert_cli.model.config import ModuleConfig
from bert_cli.opening.checkpoints import builtin_message, model_to_use
from bert_cli.opening.loader import load_model
from bert_cli.opening.trained import default_length
from bert_cli.outputs.vectors.files import has_finished_output, lines_to_skip, partial_name
from bert_cli.predicting.vector_recipe import DEFAULT_LENGTH, choose_recipe
from bert_cli.predicting.vectors import VectorChoice, open_vector_model
from bert_cli.reading.formats import is_table
from bert_cli.runs.extraction.lines import plan, write_features
from bert_cli.runtime.process import PROCESS
from bert_cli.settings.devices import check_cluster
from bert_cli.settings.texts import ExtractSettings, check_shards, check_table_flags


def check(settings: ExtractSettings, given_names: frozenset[str]) -> ExtractSettings:
    """Return the settings; raise InputError for flags that conflict with files."""
    output_file = settings.files.output_file
    if files.is_pattern(settings.files.input_file):
        check_cluster(settings.devices)
    if settings.attention.show_attention:
        # Import late: writing vectors needs neither of these functions.
        from bert_cli.runs.extraction.shown_attention import check_map

        check_map(settings.attention.attention_map)
        return settings
    check_table_flags(given_names, is_table(settings.files.input_file))
    check_shards(settings, given_names, {"input_file": "output_file"})
    is_remote = settings.extraction.resume and files.is_remote(output_file)
    refuse_if(is_remote, f"--resume: continues a local file, and {output_file} is remote; leave it out")
    return settings


def run(settings: ExtractSettings) -> int:
    """Extract vectors or show attention, and return the number of lines written."""
    extraction = settings.extraction
    attention = settings.attention
    max_seq_length = settings.encoding.max_seq_length
    input_file, output_file = settings.files.input_file, settings.files.output_file
    shows_attention = bool(attention.show_attention)
    is_sharded = not shows_attention and files.is_pattern(input_file)
    if not (shows_attention or is_sharded):
        plan.check_extraction_files(input_file, output_file, attention.attentions, extraction.output_format)
    if max_seq_length:
        check_max_seq_length(max_seq_length, pairs=extraction.long_text)
    checkpoint = model_to_use(settings.model, settings.hub).find()
    model = load_model(settings.model, checkpoint, max_seq_length, settings.hub)
    if settings.hub.hub_module and settings.model.init_checkpoint and not isinstance(model.config, ModuleConfig):
        raise InputError("--hub_module and --init_checkpoint: both name a model to start from; give one of them")
    if line := builtin_message(checkpoint, model.config):
        LOG.info(line)
    length = default_length(0, model) or DEFAULT_LENGTH
    recipe = choose_recipe(plan.vector_flags(settings), model.folder, model.config, NONE, length)
    layers = parse_layers(recipe.layers, model.config.num_hidden_layers)
    vector_format = plan.choose_format(extraction, recipe, layers, model.config.hidden_size)
    plan.check_attention(attention, model.config, layers)
    if not shows_attention and extraction.resume and has_finished_output(output_file):
        LOG.info("%s is whole: nothing is left to do; remove it to compute it again", output_file)
        return 0
    shards = plan.plan_vector_shards(settings, model, recipe) if is_sharded else None
    shards_to_do = shards.find_unfinished() if shards else []
    if shards and not shards_to_do:
        return 0

    with_attention = shows_attention or bool(attention.attentions)
    layer_indices = [layer.place for layer in layers]
    batch_size = settings.devices.batch_size
    devices = settings.devices.for_vectors(not isinstance(model.config, ModuleConfig))
    devices = devices.without_workers() if shards else devices.without_cluster()
    choice = VectorChoice(recipe.pooling, layer_indices, recipe.max_seq_length, batch_size, with_attention)
    # Weights are read, and the network is compiled, while the first texts of a file are tokenized.
    in_background = not (shows_attention or shards)
    vector_model = open_vector_model(model, devices, choice, settings.model.strict, not with_attention, in_background)
    if shows_attention:
        from bert_cli.runs.extraction.shown_attention import show_attention

        show_attention(vector_model, attention, model.tokenizer, checkpoint.name)
        return 0
    write = functools.partial(write_features, vector_model, settings, model, recipe, vector_format)
    if shards:
        return sum(write(shard.source, shard.targets[0]) for shard in shards.iterate(shards_to_do))
    facts = plan.resume_facts(settings, model, recipe, vector_model.engine.precision)
    num_done_lines = lines_to_skip(output_file, facts) if extraction.resume else 0
    num_lines = write(input_file, output_file, num_done_lines, facts)
    # Freeing the compiled network takes longer than ending the process.
    PROCESS.keep(vector_model)
    return num_lines


def _after_interruption(settings: ExtractSettings) -> str:
    """Return the advice after Ctrl-C; --resume helps only if some JSON lines were written."""
    can_resume = settings.extraction.output_format == "jsonl" and not settings.attention.attentions
    if can_resume and os.path.exists(partial_name(settings.files.output_file)):
        return "the same command with --resume goes on from the lines that are written"
    return "give the same command again"


main = Command(
    "bert-extract-features", __doc__, ExtractSettings, run, check, interrupted=_after_interruption, ends_quickly=True
)


if __name__ == "__main__":
    raise SystemExit(main())
