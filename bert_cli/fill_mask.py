"""Predict masked words with a pre-trained BERT, and whether one sentence follows another.

It prints the most probable words for each [MASK] with their probabilities. "FIRST ||| SECOND" also
gets the probability that the second text follows the first. With --input_file=texts.txt, one text
per line, the answers are JSON, one object per line:

    {"text": …, "masks": [[{"token": …, "probability": …}, …], …],
     "next_sentence_probability": …}

--candidates prints the probabilities of given words instead. --score prints how probable
whole texts without [MASK] are: the pseudo-log-likelihood, which is the sum of each token's
log-probability when it alone is masked. Without --init_checkpoint the built-in model is used. It
was trained without next sentences.

Examples:

    bert-fill-mask "the man went to the [MASK] ."
    bert-fill-mask "the nurse said that [MASK] was tired ." --candidates=he,she
"""

import functools

from bert_cli.base import files
from bert_cli.base.log import LOG
from bert_cli.base.names import STANDARD
from bert_cli.base.recoding import UTF_8
from bert_cli.examples.text_lines import read_located_texts
from bert_cli.features.encoded_text import encode_candidate_text, encode_masked_text, encode_unmasked_text
from bert_cli.features.row_batches import iterate_chunks
from bert_cli.flags.command import Command
from bert_cli.opening.checkpoints import builtin_message, model_to_use
from bert_cli.opening.loader import load_model
from bert_cli.reading.formats import refuse_table
from bert_cli.runs.tasks.interactive import ChunkReader, write_records
from bert_cli.runtime.streams import print_text
from bert_cli.settings.texts import FillMaskSettings
from bert_cli.text.vocabulary import MASK


def run(settings: FillMaskSettings) -> list[dict]:
    """Fill the masks or score the texts.

    Returns:
        The records for texts on the command line, an empty list for a file.
    """
    words, candidates, score = settings.candidates.texts, settings.candidates.candidates, settings.candidates.score
    input_file, output_file = settings.files.input_file, settings.files.output_file
    refuse_table(input_file)
    if input_file and input_file != STANDARD:
        files.check_readable(input_file, "input_file")
    files.check_output_files([output_file], [input_file])
    checkpoint = model_to_use(settings.model, default="bert_output").find()
    model = load_model(settings.model, checkpoint, 3, needs_bert=True)
    config, tokenizer = model.config, model.tokenizer
    if line := builtin_message(checkpoint, config):
        LOG.info(line)
    positions = config.max_position_embeddings
    encode = encode_unmasked_text if score else encode_candidate_text if candidates else encode_masked_text
    for place, text in read_located_texts(words, "", UTF_8) if words else ():
        encode(text, tokenizer, positions, place)

    # Import late: the engine and the checkpoint reader take a while, and a wrong
    # text must fail fast.
    from bert_cli.predicting.mask_filler import open_masked_words, predict_masks
    from bert_cli.predicting.masked_scores import read_words, score_texts, score_words

    candidate_words = read_words(candidates or (), tokenizer)
    pretrained = open_masked_words(model, settings.devices, settings.model.strict, settings.files.come_together)
    if score:
        answer = functools.partial(score_texts, pretrained, tokenizer)
    elif candidates:
        answer = functools.partial(score_words, pretrained, tokenizer, candidate_words)
    else:
        top_k = min(settings.candidates.top_k, model.vocabulary.size)
        answer = functools.partial(predict_masks, pretrained, tokenizer, top_k)
    reader = ChunkReader(input_file, settings.files.line_buffered, skips_blank=True)
    lines = read_located_texts(words, input_file, settings.text_files.encoding, reader.pipe)
    texts = (encode(text, tokenizer, positions, place) for place, text in lines)
    if words:
        records = [record for chunk in iterate_chunks(texts) for record in answer(chunk)]
        for record in records:
            print_text("\n".join(format_score(record) if score else format_candidates(record)))
        return records
    write_records(texts, output_file, answer, reader)
    return []


def format_candidates(record: dict) -> list[str]:
    """Return the candidates for a text as lines for a terminal."""
    lines = [record["text"]]
    several = len(record["masks"]) > 1
    for number, candidates in enumerate(record["masks"], start=1):
        if several:
            lines.append(f" {MASK} {number}")
        lines += [f"  {_shown(candidate['probability'])}  {candidate['token']}" for candidate in candidates]
    if "next_sentence_probability" in record:
        lines.append(f"  {record['next_sentence_probability']:.4f}  the second text follows the first")
    return lines


def _shown(probability: float) -> str:
    """Return a probability with four decimals, or in scientific notation if these would be zeros."""
    return f"{probability:.4f}" if probability >= 1e-4 or not probability else f"{probability:.0e}"


def format_score(record: dict) -> list[str]:
    """Return a text's score as lines for a terminal."""
    tokens = record["tokens"]
    number = f"{len(tokens)} tokens" if len(tokens) > 1 else "1 token"
    return [
        record["text"],
        f"  {record['pseudo_log_likelihood']:.4f}  pseudo-log-likelihood of {number}, "
        f"pseudo-perplexity {record['pseudo_perplexity']:.2f}",
        *(f"  {token['log_probability']:8.4f}  {token['token']}" for token in tokens),
    ]


main = Command("bert-fill-mask", __doc__, FillMaskSettings, run)


if __name__ == "__main__":
    raise SystemExit(main())
