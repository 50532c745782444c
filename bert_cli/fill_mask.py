"""Predict masked words with a pre-trained BERT, and whether one sentence follows another.

It prints the most probable words for each [MASK] with their probabilities. "FIRST ||| SECOND" also
gets the probability that the second text follows the first. With --input_file=texts.txt, one text
per line, the answers are JSON, one object per line:

    {"text": …, "masks": [[{"token": …, "probability": …}, …], …],
     "next_sentence_probability": …}

Without --init_checkpoint the built-in model is used. It was trained without next sentences.

Examples:

    bert-fill-mask "the man went to the [MASK] ."
    bert-fill-mask "the [MASK] sees a cat ." "it was [MASK] ." --top_k=3
"""

import functools

from bert_cli.base import files
from bert_cli.base.log import LOG
from bert_cli.base.names import STANDARD
from bert_cli.base.recoding import UTF_8
from bert_cli.examples.text_lines import read_texts
from bert_cli.features.encoded_text import masked_text
from bert_cli.features.row_batches import iterate_chunks
from bert_cli.flags.command import Command
from bert_cli.opening.checkpoints import builtin_message, to_use
from bert_cli.opening.loader import load_model
from bert_cli.reading.formats import refuse_table
from bert_cli.runs.tasks.interactive import ChunkReader, write_records
from bert_cli.runtime.streams import print_text
from bert_cli.settings.texts import FillMaskSettings
from bert_cli.text.vocabulary import MASK


def run(settings: FillMaskSettings) -> list[dict]:
    """Fill the masks, and return the records for texts on the command line, else an empty list."""
    words, top_k = settings.candidates.texts, settings.candidates.top_k
    input_file, output_file = settings.files.input_file, settings.files.output_file
    refuse_table(input_file)
    if input_file and input_file != STANDARD:
        files.check_readable(input_file, "input_file")
    files.check_output_files([output_file], [input_file])
    checkpoint = to_use(settings.model, default="bert_output")
    model = load_model(settings.model, checkpoint, 3, needs_bert=True)
    config = model.config
    tokenizer = model.tokenizer
    if line := builtin_message(checkpoint, config):
        LOG.info(line)
    positions = config.max_position_embeddings
    for place, text in read_texts(words, "", UTF_8) if words else ():
        masked_text(text, tokenizer, positions, place)

    # Import late: the engine and the checkpoint reader take a while, and a wrong
    # text must fail fast.
    from bert_cli.predicting.mask_filler import open_masked_words, predict_masks, tokenize_masked_texts

    pretrained = open_masked_words(model, settings.devices, settings.model.strict, settings.files.come_together)
    reader = ChunkReader(input_file, settings.files.line_buffered, skips_blank=True)
    lines = read_texts(words, input_file, settings.text_files.encoding, reader.pipe)
    texts = tokenize_masked_texts(pretrained, lines, tokenizer, positions)
    answer = functools.partial(predict_masks, pretrained, tokenizer, min(top_k, model.vocabulary.size))
    if words:
        records = [record for chunk in iterate_chunks(texts) for record in answer(chunk)]
        for record in records:
            print_text("\n".join(format_record(record)))
        return records
    write_records(texts, output_file, answer, reader)
    return []


def format_record(record: dict) -> list[str]:
    """Return the record as lines for a terminal."""
    lines = [record["text"]]
    several = len(record["masks"]) > 1
    for number, candidates in enumerate(record["masks"], start=1):
        if several:
            lines.append(f" {MASK} {number}")
        lines += [f"  {candidate['probability']:.4f}  {candidate['token']}" for candidate in candidates]
    if "next_sentence_probability" in record:
        lines.append(f"  {record['next_sentence_probability']:.4f}  the second text follows the first")
    return lines


main = Command("bert-fill-mask", __doc__, FillMaskSettings, run)


if __name__ == "__main__":
    raise SystemExit(main())
