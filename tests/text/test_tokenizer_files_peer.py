"""Token ids compared with transformers' fast tokenizers, for 20 directories and 2,000 texts."""

import itertools
import json
import unicodedata

import pytest

from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.tokenizer_files import find_tokenizer_files, read_tokenizer
from tests.tokenizer_folders import CONFIGURATIONS, TEXTS, VOCABULARY, bert, tokenizer_json, write
from tests.transformers_python import ask

# Without a tokenizer.json, our tokenizer searches only for listed tokens and allows words
# of 200 characters.
ADDED = ("<user>", "[E1]", "Covid", "New York", "café", "中文", "[MASK]", "x", "<USER>", "[E2]")
COMPARED = [name for name, files in CONFIGURATIONS.items() if "tokenizer" in files]


def with_added_tokens(texts: list[str]) -> list[str]:
    """Return each text with an added token inside, and with one at either end."""
    pairs = list(zip(texts, itertools.cycle(itertools.pairwise((*ADDED, ADDED[0]))), strict=False))
    inside = [text[: len(text) // 2] + first + text[len(text) // 2 :] for text, (first, _) in pairs]
    return inside + [f"{first} {text}{second}" for text, (first, second) in pairs]


@pytest.mark.slow
def test_ids_equal_those_of_transformers(tmp_path, fixtures):
    cases = (fixtures / "tokenization" / "cases.jsonl").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    golden = list(dict.fromkeys(json.loads(case)["text"] for case in cases))
    texts = [*TEXTS, *golden, *with_added_tokens(golden)]
    assert (len(texts) > 2000, len(COMPARED)) == (True, 20)
    folders = [write(tmp_path / name, config={"model_type": "bert"}, **CONFIGURATIONS[name]) for name in COMPARED]
    theirs = ask("hugging_face_tokens.py", [[str(folder), texts] for folder in folders])
    for name, folder, expected in zip(COMPARED, folders, theirs, strict=True):
        vocab_file = str(folder / ("vocab.txt" if (folder / "vocab.txt").exists() else "tokenizer.json"))
        stored = read_tokenizer(vocab_file, find_tokenizer_files(vocab_file))
        lower = stored.casing is None or stored.casing[1]
        tokenizer = FullTokenizer(stored.vocabulary, lower, settings=stored.settings)
        our_ids = {text: tokenizer.encode(text) for text in texts}
        different = {
            text: (our_ids[text], ids) for text, ids in zip(texts, expected, strict=True) if our_ids[text] != ids
        }
        assert different == {}, name


# Code points below the planes that have no character, tags and variation selectors, and some of private use.
CODES = [*range(0xD800), *range(0xE000, 0x33400), *range(0xE0000, 0xE0200), *range(0xF0000, 0xF0100)]
NAMES = {"lowercase": "do_lower_case", "handle_chinese_chars": "tokenize_chinese_chars"}


def text_of(codes) -> str:
    """Return a text with each character between two letters, alone, and at the end of a word."""
    return " ".join(f"a{chr(code)}b {chr(code)} b{chr(code)}" for code in codes)


@pytest.mark.slow
@pytest.mark.parametrize("rules", [{}, {"lowercase": False}, {"strip_accents": False}, {"handle_chinese_chars": False}])
def test_every_character_gives_the_ids_of_transformers(rules, tmp_path):
    codes = [code for code in CODES if not is_newer(chr(code))]
    characters = list(dict.fromkeys([*VOCABULARY, *(chr(code) for code in codes if chr(code).strip())]))
    vocabulary = list(dict.fromkeys([*characters, *(f"##{token}" for token in characters if len(token) == 1)]))
    config = bert(**{NAMES.get(key, key): value for key, value in rules.items()})
    files = {"tokenizer": tokenizer_json(vocabulary=vocabulary, **rules), "tokenizer_config": config}
    folder = write(tmp_path / "model", config={"model_type": "bert"}, **files)
    groups = [codes[start : start + 64] for start in range(0, len(codes), 64)]
    theirs = ask("hugging_face_tokens.py", [[str(folder), list(map(text_of, groups))]])[0]
    stored = read_tokenizer(str(folder / "tokenizer.json"), find_tokenizer_files(str(folder / "tokenizer.json")))
    tokenizer = FullTokenizer(stored.vocabulary, stored.casing[1], cache_size=0, settings=stored.settings)
    different = [
        hex(group[0]) for group, ids in zip(groups, theirs, strict=True) if tokenizer.encode(text_of(group)) != ids
    ]
    assert different == []


def is_newer(character: str) -> bool:
    """Return whether this Python does not know a character, or knows another decomposition of it."""
    return unicodedata.category(character) == "Cn" or character == "\U00011938"
