"""Display of one text's attention as links, a table or heat maps (--show_attention)."""

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.examples.text_lines import TextLine, split_line
from bert_cli.features.extraction import ExtractionFeatures, extraction_chunks
from bert_cli.features.packing import warn_cuts
from bert_cli.outputs.vectors.attention import (
    attention_of_words,
    find_word,
    strongest_links,
    word_table,
    words_and_special_tokens,
)
from bert_cli.predicting.vectors import VectorModel
from bert_cli.runtime.streams import print_text
from bert_cli.settings.texts import AttentionOutput
from bert_cli.text.tokenization import FullTokenizer


def check_map(path: str) -> None:
    """Raise InputError if --attention_map cannot be written; only replace our own pages."""
    if not path:
        return
    # Import late: only this flag needs the report modules.
    from bert_cli.report.page import is_our_page

    files.check_output_files([path], [])
    if files.exists(path) and not is_our_page(path):
        raise InputError(f"--attention_map={path}: is a file that bert_cli has not made; give another name")


def encode_shown_text(
    text: TextLine, tokenizer: FullTokenizer, max_seq_length: int
) -> tuple[ExtractionFeatures, list[str]]:
    """Return a text's features with words, and its tokens.

    Args:
        text: the text or pair.
        max_seq_length: maximum number of tokens.
    """
    features = next(extraction_chunks([text], tokenizer, max_seq_length, words=True))
    return features, tokenizer.convert_ids_to_tokens(features.token_ids.tolist())


def show_attention(vector_model: VectorModel, flags: AttentionOutput, tokenizer: FullTokenizer, model: str) -> None:
    """Print the attention for a text, and write a page with heat maps if the flags ask for it.

    Args:
        vector_model: model with weights.
        flags: the text in `show_attention`, and the form of the output.
        model: the model's name for the page.
    """
    features, tokens = encode_shown_text(
        split_line(flags.show_attention), tokenizer, vector_model.choice.max_seq_length
    )
    warn_cuts(features.cuts, vector_model.choice.max_seq_length, place="--show_attention")
    units = words_and_special_tokens(tokens, features.words[0] if features.words else [])
    # Search before computing: a wrong word must fail fast.
    positions = find_word(flags.attention_of, units) if flags.attention_of else []
    attention = vector_model.extract(features)[1][0]
    layer = attention[flags.layer]
    heads = layer.mean(axis=0) if flags.head is None else layer[flags.head]
    lines: list[str] = []
    if positions:
        by_word = attention_of_words(heads, units)
        lines = [line for position in positions for line in word_table(by_word, units, position, flags.top_k)]
    elif not flags.attention_map:
        links = strongest_links(heads, tokens, flags.top_k)
        lines = [f"{probability:.4f}  {source} -> {target}" for probability, source, target in links]
    if lines:
        print_text("\n".join(lines))
    if flags.attention_map:
        from bert_cli.report.attention_map import attention_page
        from bert_cli.report.page import write_page

        write_page(flags.attention_map, attention_page(model, flags.show_attention, tokens, attention))
        LOG.info("wrote %s: %d layers, %d heads, %d tokens", flags.attention_map, *attention.shape[:3])
