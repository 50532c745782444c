"""Token ids compared with transformers' fast tokenizers, for 20 directories and 2,000 texts."""

import itertools
import json

import pytest

from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.tokenizer_files import find_tokenizer_files, read_tokenizer
from tests.tokenizer_folders import CONFIGURATIONS, TEXTS, write
from tests.transformers_python import ask

# Without a tokenizer.json, our tokenizer searches only for listed tokens and allows words
# of 200 characters.
ADDED = ("<user>", "[E1]", "Covid", "New York", "café", "中文", "[MASK]", "x", "<USER>", "[E2]")
COMPARED = [name for name, files in CONFIGURATIONS.items() if "tokenizer" in files]


def is_comparable(text: str) -> bool:
    """Return whether Google's rules and `tokenizers` agree on the characters of a text.

    They differ for a final sigma, private use, one ideograph block, and characters that are too new
    for the tables in `tokenizers`.
    """
    newer = "\u2e45\u2e49\U00011830\U0001143b\U00011d42\U00016e97\U00016e99\U00010f55\U00011a3f"
    is_other = ("Σ", *newer, *map(chr, range(0xE000, 0xF900)))
    return not any(c in is_other or ord(c) >= 0xF0000 or 0x2B820 <= ord(c) < 0x2B920 for c in text)


def with_added_tokens(texts: list[str]) -> list[str]:
    """Return each text with an added token inside, and with one at either end."""
    pairs = list(zip(texts, itertools.cycle(itertools.pairwise((*ADDED, ADDED[0]))), strict=False))
    inside = [text[: len(text) // 2] + first + text[len(text) // 2 :] for text, (first, _) in pairs]
    return inside + [f"{first} {text}{second}" for text, (first, second) in pairs]


@pytest.mark.slow
def test_ids_equal_those_of_transformers(tmp_path, fixtures):
    cases = (fixtures / "tokenization" / "cases.jsonl").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    golden = list(dict.fromkeys(json.loads(case)["text"] for case in cases))
    texts = [text for text in [*TEXTS, *golden, *with_added_tokens(golden)] if is_comparable(text)]
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
