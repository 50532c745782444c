"""Contents of the tokenizer files in a Hugging Face directory, as `tokenizers` writes them."""

from bert_cli.text.tokenizer_settings import (
    CHINESE,
    GOOGLE,
    LOWER_CASE,
    MAX_WORD,
    NEVER_SPLIT,
    ROLES,
    STRIP_ACCENTS,
    TokenizerSettings,
    special_token,
)
from bert_cli.text.vocabulary import CLS, SEP, UNK, Vocabulary


def special_tokens_map(vocabulary: Vocabulary) -> dict[str, str]:
    """Return the contents of special_tokens_map.json: tokens by role."""
    return {role: token for role, token in ROLES.items() if token in vocabulary.ids}


def tokenizer_config(
    do_lower_case: bool,
    max_length: int,
    vocabulary: Vocabulary,
    class_prefix: str = "Bert",
    settings: TokenizerSettings = GOOGLE,
) -> dict:
    """Return the contents of tokenizer_config.json.

    Args:
        do_lower_case: whether text is lower-cased.
        max_length: the model's number of positions.
        vocabulary: vocabulary with added tokens.
        class_prefix: see model.networks.
        settings: the tokenizer's other settings.
    """
    values = {
        LOWER_CASE: do_lower_case,
        "model_max_length": max_length,
        STRIP_ACCENTS: None,
        CHINESE: True,
        "tokenizer_class": f"{class_prefix}Tokenizer",
    } | special_tokens_map(vocabulary)
    # Added tokens and the word length limit are in tokenizer.json.
    return values | {
        key: value for key, value in settings.values().items() if key in (STRIP_ACCENTS, CHINESE, NEVER_SPLIT)
    }


def tokenizer_json(vocabulary: Vocabulary, do_lower_case: bool, settings: TokenizerSettings = GOOGLE) -> dict:
    """Return the contents of tokenizer.json.

    Args:
        vocabulary: vocabulary with added tokens.
        do_lower_case: whether text is lower-cased.
        settings: the tokenizer's other settings.
    """
    ids = vocabulary.ids
    tokens = {ids[token]: special_token(token, ids[token]) for token in ROLES.values() if token in ids}
    tokens |= {token.id: token for token in settings.added_tokens}
    outside = set(settings.outside_wordpiece)
    first, second = ({"Sequence": {"id": name, "type_id": number}} for number, name in enumerate("AB"))
    begin = {"SpecialToken": {"id": CLS, "type_id": 0}}
    ends = [{"SpecialToken": {"id": SEP, "type_id": number}} for number in (0, 1)]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": number, "content": tokens[number].content} | tokens[number].flags() for number in sorted(tokens)
        ],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": settings.tokenize_chinese_chars,
            "strip_accents": settings.strip_accents,  # None: same as lowercase
            "lowercase": do_lower_case,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [begin, first, ends[0]],
            "pair": [begin, first, ends[0], second, ends[1]],
            "special_tokens": {token: {"id": token, "ids": [ids[token]], "tokens": [token]} for token in (CLS, SEP)},
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": UNK,
            "continuing_subword_prefix": "##",
            MAX_WORD: settings.max_word_characters,
            "vocab": {token: number for token, number in ids.items() if number not in outside} if outside else ids,
        },
    }
