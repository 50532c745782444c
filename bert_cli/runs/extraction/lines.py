"""Vectors of lines, computed and written chunk by chunk. Imports no TensorFlow."""

import contextlib
import dataclasses
import itertools
import time

from bert_cli.base.errors import InputError
from bert_cli.base.lines import input_name
from bert_cli.base.log import LOG
from bert_cli.base.names import STANDARD
from bert_cli.engines.engine import INT8
from bert_cli.features.cuts import NOT_CUT, warn_cuts
from bert_cli.features.extraction import extraction_chunks
from bert_cli.outputs.vectors.arrays import open_archive, write_attention
from bert_cli.outputs.vectors.files import open_writer
from bert_cli.outputs.vectors.rows import VectorFormat, feature_rows
from bert_cli.runs.extraction import plan
from bert_cli.runs.extraction.extractor import Extractor, InferenceExtractor, VectorChoice
from bert_cli.runs.loading.bundle import AnyModel
from bert_cli.runs.loading.checks import PairCheck
from bert_cli.runtime.tensorflow_setup import setup_tensorflow
from bert_cli.settings.devices import Devices
from bert_cli.settings.texts import ExtractSettings


def open_extractor(model: AnyModel, devices: Devices, choice: VectorChoice, strict: bool = False) -> Extractor:
    """Return an encoder on its devices, its weights still to be loaded; strict: see checks.warn_or_fail."""
    config = model.config
    check_pairs = PairCheck(config, model.config_name, strict)
    if inference := devices.inference:
        if choice.attention and inference.precision == INT8:
            raise InputError(f"{inference.flag} shows no attention; leave it out")
        return InferenceExtractor(config, inference, choice, check_pairs)
    setup_tensorflow()
    from bert_cli.runs.extraction.tensorflow_extractor import FeaturesSession

    return FeaturesSession(config, devices, choice, check_pairs)


def write_features(
    session: Extractor,
    settings: ExtractSettings,
    model: AnyModel,
    form: VectorFormat,
    source: str,
    target: str,
    done: int = 0,
    facts: dict[str, str] | None = None,
) -> int:
    """Write the vectors of the lines of `source` to `target`, and return the number of lines.

    form: of plan.form_of. done, facts: see outputs.vectors.files.open_writer.
    """
    extraction = settings.extraction
    attentions = settings.attention.attentions
    length = session.choice.max_seq_length
    limits = plan.chunk_limits(model.config, len(form.layers), form.unit == "line", bool(attentions))
    tokenizer = model.tokenizer
    combine = plan.combination(extraction)
    convert = tokenizer.convert_ids_to_tokens
    cuts = NOT_CUT
    with contextlib.ExitStack() as stack:
        texts, total, identifiers = stack.enter_context(plan.open_texts(settings, source, target, done))
        form = dataclasses.replace(form, has_ids=bool(identifiers))
        if done:
            LOG.info("resuming after line %d of %s.partial", done, target)
        chunks = extraction_chunks(texts, tokenizer, length, extraction.long_text, extraction.words, **limits)
        # Before the writer is opened: no file is begun for a vocabulary that does not fit.
        chunks = plan.checked_first(chunks, source, model.vocabulary, settings.model)
        writer = stack.enter_context(open_writer(target, extraction.output_format, form, done, facts))
        archive = stack.enter_context(open_archive(attentions)) if attentions else None
        # After everything is opened, so that the rate measures computing alone.
        began = time.monotonic()
        progress = plan.reporter(total, done, stack)
        for features in chunks:
            vectors, attention = session.extract(features)
            rows = feature_rows(vectors, features, extraction.pooling, combine, extraction.normalize, convert)
            ids = identifiers[features.first_line : features.first_line + len(features)]
            writer.write(dataclasses.replace(rows, identifiers=ids))
            if archive:
                ends = features.offsets.tolist()
                tokens = [convert(features.token_ids[start:end].tolist()) for start, end in itertools.pairwise(ends)]
                # Attention has its own file, whose numbers follow the same flag as the vectors.
                dtype = "<f2" if extraction.float16 else "<f4"
                write_attention(archive, features.first_line, tokens, attention, dtype)
            cuts += features.cuts
            progress(features.first_line + len(features))
        rate = cuts.num_texts / (time.monotonic() - began)
    written = " and ".join(path for path in (target, attentions) if path and path != STANDARD)
    prefix = f"wrote {written}: " if written else ""
    LOG.info("%s%d lines, %.1f a second", prefix, cuts.num_texts, rate)
    if not cuts.num_texts + done:
        LOG.warning("%s: warning: holds no line; check --input_file", input_name(source))
    warn_cuts(cuts, length, "lines", advice="--long_text cuts none")
    return cuts.num_texts
