"""Directories with tokenizer files as transformers and people write them, for tests of readers."""

import json
import pathlib

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = [
    "möchte", "mochte", "schön", "schon", "i", "##ch", "user", "##s", "the", "The", "a", "##a", "new", "york", "cafe",
    "café", "中", "文", "中文", "##文", "co", "##vid", "foo", "##bar", "[", "]", "<", ">", ",", ".", "-", "!", "e", "1", "İ",
    "mask", "sep", "и", "й", "##й", "word", "##word", "ß", "E", "x", "##x", "straße", "of", "and", "it", "'",
]  # fmt: skip
VOCABULARY = [*SPECIAL, *WORDS]
SIZE = len(VOCABULARY)


def added_token(content: str, index: int, **flags: bool) -> dict:
    """Return an added token for tokenizer.json; flags that are not given are False."""
    names = ("single_word", "lstrip", "rstrip", "normalized", "special")
    return {"id": index, "content": content} | dict.fromkeys(names, False) | flags


STANDARD = [added_token(token, index, special=True) for index, token in enumerate(SPECIAL)]


def tokenizer_json(extra=(), vocabulary=VOCABULARY, standard=STANDARD, longest=100, **normalizer) -> dict:
    """Return a tokenizer.json as transformers writes it.

    Args:
        extra: added tokens in addition to `standard`.
        vocabulary: all tokens.
        standard: added tokens for special tokens.
        longest: max_input_chars_per_word.
        normalizer: normalizer settings that differ from the defaults.
    """
    rules = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True} | normalizer
    special = [
        {"SpecialToken": {"id": token, "type_id": number}}
        for token, number in (("[CLS]", 0), ("[SEP]", 0), ("[SEP]", 1))
    ]
    texts = [{"Sequence": {"id": name, "type_id": number}} for number, name in enumerate("AB")]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [*standard, *extra],
        "normalizer": {"type": "BertNormalizer"} | rules,
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [special[0], texts[0], special[1]],
            "pair": [special[0], texts[0], special[1], texts[1], special[2]],
            "special_tokens": {
                token: {"id": token, "ids": [SPECIAL.index(token)], "tokens": [token]} for token in ("[CLS]", "[SEP]")
            },
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": longest,
            "vocab": {token: index for index, token in enumerate(vocabulary)},
        },
    }


def decoder(*tokens: dict) -> dict:
    """Return an added_tokens_decoder with the special tokens and `tokens`."""
    return {
        str(token["id"]): {key: value for key, value in token.items() if key != "id"} for token in (*STANDARD, *tokens)
    }


def write(folder: pathlib.Path, vocab: list[str] | None = None, **files: object) -> pathlib.Path:
    """Write vocab.txt, if `vocab` is given, and JSON files by their names without .json."""
    folder.mkdir(parents=True, exist_ok=True)
    if vocab:
        (folder / "vocab.txt").write_text("\n".join(vocab) + "\n", encoding="utf-8")
    for name, values in files.items():
        (folder / f"{name}.json").write_text(json.dumps(values, ensure_ascii=False), encoding="utf-8")
    return folder


def bert(**values: object) -> dict:
    """Return a tokenizer_config.json of BertTokenizer."""
    return {"tokenizer_class": "BertTokenizer", "do_lower_case": True} | values


USER, E1 = added_token("<user>", SIZE, normalized=True), added_token("[E1]", SIZE + 1, special=True)
COVID = added_token("Covid", SIZE, normalized=True)
GENERIC = {"tokenizer_class": "PreTrainedTokenizerFast"}
# Name -> files in a directory.
CONFIGURATIONS: dict[str, dict] = {
    "tokenizer.json alone": {"tokenizer": tokenizer_json(), "tokenizer_config": bert()},
    "cased": {"tokenizer": tokenizer_json(lowercase=False), "tokenizer_config": bert(do_lower_case=False)},
    "accents kept": {"tokenizer": tokenizer_json(strip_accents=False), "tokenizer_config": bert(strip_accents=False)},
    "cased, accents stripped": {
        "tokenizer": tokenizer_json(strip_accents=True, lowercase=False),
        "tokenizer_config": bert(strip_accents=True, do_lower_case=False),
    },
    "ideographs joined": {
        "tokenizer": tokenizer_json(handle_chinese_chars=False),
        "tokenizer_config": bert(tokenize_chinese_chars=False),
    },
    "tokenizer_config.json against tokenizer.json": {
        "tokenizer": tokenizer_json(lowercase=False, strip_accents=True),
        "tokenizer_config": bert(strip_accents=False),
    },
    "generic class against its tokenizer_config.json": {
        "tokenizer": tokenizer_json(lowercase=False, strip_accents=True, handle_chinese_chars=False),
        "tokenizer_config": GENERIC | {"do_lower_case": True, "strip_accents": False},
    },
    "added tokens": {"tokenizer": tokenizer_json([USER, E1]), "tokenizer_config": bert()},
    "added tokens, cased": {
        "tokenizer": tokenizer_json([USER, E1], lowercase=False),
        "tokenizer_config": bert(do_lower_case=False),
    },
    "added tokens of a generic class": {"tokenizer": tokenizer_json([USER, E1]), "tokenizer_config": GENERIC},
    "added_tokens_decoder": {
        "vocab": VOCABULARY,
        "tokenizer": tokenizer_json([USER, E1]),
        "tokenizer_config": bert(added_tokens_decoder=decoder(USER, E1)),
    },
    "added_tokens_decoder without tokenizer.json": {
        "vocab": VOCABULARY,
        "tokenizer_config": bert(added_tokens_decoder=decoder(USER, E1)),
    },
    "added_tokens.json": {
        "vocab": VOCABULARY,
        "tokenizer_config": bert(),
        "added_tokens": {"<user>": SIZE, "[E1]": SIZE + 1},
        "special_tokens_map": {"additional_special_tokens": ["[E1]"]},
    },
    "token within words": {"tokenizer": tokenizer_json([COVID]), "tokenizer_config": bert()},
    "single word": {
        "tokenizer": tokenizer_json([COVID | {"single_word": True}, added_token("x", VOCABULARY.index("x"), single_word=True)]),
        "tokenizer_config": bert(),
    },
    "stripped on both sides": {
        "tokenizer": tokenizer_json(
            [added_token("[E1]", SIZE, lstrip=True), added_token("[E2]", SIZE + 1, rstrip=True, normalized=True)]
        ),
        "tokenizer_config": bert(),
    },
    "token with spaces, one within another": {
        "tokenizer": tokenizer_json(
            [
                added_token("New York", SIZE, normalized=True),
                added_token("New", SIZE + 1),
                added_token("<user", SIZE + 2),
                added_token("<user>", SIZE + 3),
            ]
        ),
        "tokenizer_config": bert(),
    },
    "accents and ideographs in tokens": {
        "tokenizer": tokenizer_json(
            [
                added_token("Möchte", SIZE, normalized=True),
                added_token("文本", SIZE + 1, normalized=True),
                added_token("中文", VOCABULARY.index("中文"), normalized=True),
            ]
        ),
        "tokenizer_config": bert(),
    },
    "tokens of the vocabulary": {
        "tokenizer": tokenizer_json(
            [added_token("foo", VOCABULARY.index("foo")), added_token("café", VOCABULARY.index("café"), normalized=True)]
        ),
        "tokenizer_config": bert(),
    },
    "generic class, long words": {"tokenizer": tokenizer_json(longest=7), "tokenizer_config": GENERIC},
    "Fast class, all at once": {
        "tokenizer": tokenizer_json([USER, E1], strip_accents=False, handle_chinese_chars=False, lowercase=False),
        "tokenizer_config": {
            "tokenizer_class": "BertTokenizerFast", "do_lower_case": False, "strip_accents": False,
            "tokenize_chinese_chars": False,
        },
    },
    "no tokenizer_config.json": {"tokenizer": tokenizer_json([USER])},
}  # fmt: skip
TEXTS = [
    "", "  ", "Ich möchte schön", "ICH MÖCHTE", "the [MASK] of [SEP] it", "[mask][CLS]", "<user> the", "<USER>the<user>",
    "a [E1]the[E1] [e1] [E1", "[E1]  [E2]  the", "Covid covidbar foocovid, COVID!", "covid-foo Covid", "x ax x, xx _x x_ éx",
    "New York new york New  York New\tYork", "in new yorkx", "中文 x中文y 中 文", "中文文中", "文本 文 本 x文本",
    "Möchte möchte MOCHTE mo\u0308chte", "foo foobar FOO", "café cafe CAFÉ", "İ i̇ straße STRASSE", "<user <user> <user><",
    "й и Й", "word" * 24, "word" * 25, "word" * 26, "x" * 101,
    "e\u0301" * 100, "e\u0301" * 101, "it's a \x00\ufffd\u200btest\u3000of\xa0the\x85!", "user\u200d<user>\u0301", "1x <user>1",
    "[UNK] [PAD] zzz", "\u0301<user>\u0301 \u0301x", "The THE the",
]  # fmt: skip
