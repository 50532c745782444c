"""The tokenizer's files in a Hugging Face folder: the same vocabulary and rules in the words of
`tokenizers`.
"""

from bert_cli.base.errors import InputError
from bert_cli.base.json_files import read_json
from bert_cli.text.tokenization import LONGEST_WORD
from bert_cli.text.vocabulary import CLS, MASK, PAD, SEP, UNK, Vocabulary

_SPECIAL = {"unk_token": UNK, "sep_token": SEP, "pad_token": PAD, "cls_token": CLS, "mask_token": MASK}


def special_tokens_map(vocabulary: Vocabulary) -> dict[str, str]:
    """The contents of special_tokens_map.json."""
    return {role: token for role, token in _SPECIAL.items() if token in vocabulary.ids}


def tokenizer_config(do_lower_case: bool, max_length: int, vocabulary: Vocabulary, class_prefix: str = "Bert") -> dict:
    """The contents of tokenizer_config.json; max_length in tokens; class_prefix: see model.networks."""
    return {
        "do_lower_case": do_lower_case,
        "model_max_length": max_length,
        "strip_accents": None,
        "tokenize_chinese_chars": True,
        "tokenizer_class": f"{class_prefix}Tokenizer",
    } | special_tokens_map(vocabulary)


def tokenizer_json(vocabulary: Vocabulary, do_lower_case: bool) -> dict:
    """The contents of tokenizer.json."""
    special = sorted((vocabulary.ids[token], token) for token in _SPECIAL.values() if token in vocabulary.ids)
    first, second = ({"Sequence": {"id": name, "type_id": number}} for number, name in enumerate("AB"))
    begin = {"SpecialToken": {"id": CLS, "type_id": 0}}
    ends = [{"SpecialToken": {"id": SEP, "type_id": number}} for number in (0, 1)]
    added = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": number, "content": token} | added for number, token in special],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,  # as lowercase says
            "lowercase": do_lower_case,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [begin, first, ends[0]],
            "pair": [begin, first, ends[0], second, ends[1]],
            "special_tokens": {
                token: {"id": token, "ids": [vocabulary.ids[token]], "tokens": [token]} for token in (CLS, SEP)
            },
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": UNK,
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": LONGEST_WORD,
            "vocab": vocabulary.ids,
        },
    }


def read_tokenizer_json(path: str) -> tuple[list[str], bool | None]:
    """The tokens of a tokenizer.json, by id, and whether it lower-cases; for folders that have no
    vocab.txt.

    Raises InputError where it is not the tokenizer of a BERT.
    """
    values = read_json(path, advice="")
    model = values.get("model") if isinstance(values, dict) else None
    if not isinstance(model, dict) or model.get("type") != "WordPiece" or not isinstance(model.get("vocab"), dict):
        raise InputError(f"{path}: holds no WordPiece vocabulary; give --vocab_file")
    added = values.get("added_tokens") or []
    if not isinstance(added, list) or not all(isinstance(token, dict) for token in added):
        raise InputError(f"{path}: added_tokens is not an array of objects; give --vocab_file")
    ids = model["vocab"] | {str(token.get("content")): token.get("id") for token in added}
    # By text: ids of a foreign file may be of any type, and those do not compare.
    if sorted(ids.values(), key=str) != sorted(range(len(ids)), key=str):
        raise InputError(f"{path}: the vocabulary's ids are not 0, 1, … without gaps; give --vocab_file")
    normalizer = values.get("normalizer")
    lower = normalizer.get("lowercase") if isinstance(normalizer, dict) else None
    return sorted(ids, key=ids.__getitem__), lower if isinstance(lower, bool) else None
