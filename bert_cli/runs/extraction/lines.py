"""Computing and writing the vectors of lines, chunk by chunk."""

import contextlib
import dataclasses
import itertools
import time

from bert_cli.base.lines import input_name
from bert_cli.base.log import LOG
from bert_cli.base.names import STANDARD
from bert_cli.features.packing import NOT_CUT, warn_cuts
from bert_cli.inference.rows import one_ahead
from bert_cli.opening.bundle import AnyModel
from bert_cli.outputs.vectors.arrays import open_archive, write_attention
from bert_cli.outputs.vectors.files import open_writer
from bert_cli.outputs.vectors.rows import VectorFormat, feature_rows
from bert_cli.predicting.vector_recipe import VectorRecipe
from bert_cli.predicting.vectors import VectorModel, chunk_limits
from bert_cli.runs.extraction import plan
from bert_cli.settings.texts import ExtractSettings

# The first chunk is small, so that the computation starts soon. Later ones are tokenized meanwhile.
_FIRST_LINES = 1024


def write_features(
    vector_model: VectorModel,
    settings: ExtractSettings,
    model: AnyModel,
    recipe: VectorRecipe,
    vector_format: VectorFormat,
    source: str,
    target: str,
    done: int = 0,
    facts: dict[str, str] | None = None,
) -> int:
    """Write the vectors of a file's lines, and return how many lines there are.

    Args:
        vector_model: model with weights.
        recipe: the vectors to compute.
        vector_format: format from `plan.choose_format`.
        source: file to read.
        target: file to write.
        done: number of lines that an interrupted run has written (see open_writer).
        facts: properties that resumed runs must share (see open_writer).
    """
    extraction = settings.extraction
    attentions = settings.attention.attentions
    length = vector_model.choice.max_seq_length
    limits = chunk_limits(model.config, len(vector_format.layers), vector_format.unit == "line", bool(attentions))
    tokenizer = model.tokenizer
    combine = plan.choose_combination(extraction.combine, recipe)
    convert = tokenizer.convert_ids_to_tokens
    cuts = NOT_CUT
    with contextlib.ExitStack() as stack:
        texts, total, identifiers = plan.open_texts(settings, source, target, done)
        vector_format = dataclasses.replace(vector_format, has_ids=bool(identifiers))
        if done:
            LOG.info("resuming after line %d of %s.partial", done, target)
        chunks = recipe.chunks(texts, tokenizer, first_lines=_FIRST_LINES, **limits)
        # Do both before opening the writer: an error must not leave an unfinished file.
        chunks = plan.check_first_chunk(chunks, source, model.vocabulary, settings.model)
        if source != STANDARD:
            # Standard input may wait for its next line, also after an interruption.
            chunks = stack.enter_context(contextlib.closing(one_ahead(chunks)))
        if vector_model.engine.compilation:
            vector_model.engine.compilation.wait()
        writer = stack.enter_context(open_writer(target, extraction.output_format, vector_format, done, facts))
        archive = stack.enter_context(open_archive(attentions)) if attentions else None
        # Start the clock after opening all files, so that the rate only measures the computation.
        start_time = time.monotonic()
        progress = plan.make_reporter(total, done, stack)
        for features in chunks:
            vectors, attention = vector_model.extract(features)
            rows = feature_rows(vectors, features, recipe.pooling, combine, recipe.finish, convert)
            ids = identifiers[features.first_line : features.first_line + len(features)]
            writer.write(dataclasses.replace(rows, identifiers=ids))
            if archive:
                ends = features.offsets.tolist()
                tokens = [convert(features.token_ids[start:end].tolist()) for start, end in itertools.pairwise(ends)]
                # Use the same dtype as for vectors.
                dtype = "<f2" if extraction.float16 else "<f4"
                write_attention(archive, features.first_line, tokens, attention, dtype)
            cuts += features.cuts
            progress(features.first_line + len(features))
        rate = cuts.num_texts / (time.monotonic() - start_time)
    written = " and ".join(path for path in (target, attentions) if path and path != STANDARD)
    prefix = f"wrote {written}: " if written else ""
    LOG.info("%s%d lines, %.1f a second", prefix, cuts.num_texts, rate)
    if not cuts.num_texts + done:
        LOG.warning("%s: warning: holds no line; check --input_file", input_name(source))
    warn_cuts(cuts, length, "lines", advice="--long_text cuts none")
    return cuts.num_texts
