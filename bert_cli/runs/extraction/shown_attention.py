"""The attention of one text for people: --show_attention, as links, a table or heat maps. Imports
no TensorFlow.
"""

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.examples.text_lines import split_line
from bert_cli.features.cuts import warn_cuts
from bert_cli.features.extraction import extraction_chunks
from bert_cli.outputs.vectors.attention import attention_of_words, find_word, strongest_links, units_of, word_table
from bert_cli.runs.extraction.extractor import Extractor
from bert_cli.runtime.streams import print_text
from bert_cli.settings.texts import Attention
from bert_cli.text.tokenization import FullTokenizer


def check_map(path: str) -> None:
    """InputError unless --attention_map can be written, over nothing but a page of ours."""
    if not path:
        return
    # Here, as only a page needs the modules of pages.
    from bert_cli.report.page import is_our_page

    files.check_output_files([path], [])
    if files.exists(path) and not is_our_page(path):
        raise InputError(f"--attention_map={path}: is a file that bert_cli has not made; give another name")


def show_attention(session: Extractor, asked: Attention, tokenizer: FullTokenizer, model: str) -> None:
    """Print and write what `asked` says of the text asked.show_attention. model: its name."""
    text = split_line(asked.show_attention)
    features = next(extraction_chunks([text], tokenizer, session.choice.max_seq_length, words=True))
    warn_cuts(features.cuts, session.choice.max_seq_length, place="--show_attention")
    tokens = tokenizer.convert_ids_to_tokens(features.token_ids.tolist())
    units = units_of(tokens, features.words[0] if features.words else [])
    # Before the model computes: a word that the text lacks costs no time.
    places = find_word(asked.attention_of, units) if asked.attention_of else []
    attention = session.extract(features)[1][0]
    layer = attention[asked.layer]
    heads = layer.mean(axis=0) if asked.head is None else layer[asked.head]
    lines: list[str] = []
    if places:
        by_word = attention_of_words(heads, units)
        lines = [line for place in places for line in word_table(by_word, units, place, asked.top_k)]
    elif not asked.attention_map:
        links = strongest_links(heads, tokens, asked.top_k)
        lines = [f"{probability:.4f}  {source} -> {target}" for probability, source, target in links]
    if lines:
        print_text("\n".join(lines))
    if asked.attention_map:
        from bert_cli.report.attention_map import attention_page
        from bert_cli.report.page import write_page

        write_page(asked.attention_map, attention_page(model, asked.show_attention, tokens, attention))
        LOG.info("wrote %s: %d layers, %d heads, %d tokens", asked.attention_map, *attention.shape[:3])
