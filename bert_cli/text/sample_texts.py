"""Sample texts on which two tokenizers are likely to differ."""

import random
from collections.abc import Mapping, Sequence

from bert_cli.text.tokenizer_settings import TokenizerSettings
from bert_cli.text.vocabulary import SPECIAL

_TEXTS = (
    "",
    "The quick brown fox jumps over the lazy dog.",
    "JACK AND JILL WENT UP THE HILL",
    "Ångström, café, naïve, São Paulo, Zürich, Ελλάδα, Йод",
    "cafe\u0301 and re\u0301sume\u0301, A\u030angstro\u0308m",
    "İstanbul ıssız, STRASSE straße, ΟΔΟΣ",
    "中文字符和日本語のテキスト、한국어 텍스트",
    "tf中文mix漢字x, ㊥文",
    "नमस्ते दुनिया, สวัสดี, مرحبا بالعالم, שלום",
    "isn't it $4.50? (yes/no) e-mail: a_b@c.org, #1 + 2 = 3!",
    "“quotes” — dashes… and ‘more’, 5€ ≤ 6£, ½ ² ⅷ",
    "a\u200bb c\u00add \ufeffe f\x00g h\ufffdi\x85j",
    "\ttabs\tand\u3000wide\xa0spaces\n",
    "😀 emoji 👩\u200d👩\u200d👧 ❤\ufe0f",
    "12,345.67 1st 2nd 3rd 0x1F 1e-5",
)
# For each text in these lists, a directory with a list
# of special tokens has one token per special token.
SPECIAL_TEXTS = tuple(f"the {token}, {token.lower()}{token} a" for token in SPECIAL)
_NUM_RANDOM = 10  # pairs of texts with words from the vocabulary
_WORDS = 8  # words in each of them
_LONG_WORDS = (98, 101, 198, 201)  # characters, around the limits of Hugging Face and Google


def make_texts_for_tokenizers(ids: Mapping[str, int], settings: Sequence[TokenizerSettings], seed: int) -> list[str]:
    """Return texts with accents, Chinese, long words, words of a vocabulary, and added tokens.

    Args:
        ids: token -> id.
        settings: settings of the tokenizers that are compared.
        seed: seed for the words of the vocabulary.
    """
    whole = [token for token in ids if token.isalpha()] or ["a"]
    inside = [token[2:] for token in ids if token.startswith("##") and token[2:].isalpha()] or ["a"]
    rng = random.Random(seed)
    texts = [*_TEXTS]
    for _ in range(_NUM_RANDOM):
        words = rng.choices(whole, k=_WORDS)
        # A word that is in the vocabulary shows what
        # happens to its capitals, accents and ideographs.
        texts.append(" ".join([*words, words[0] + rng.choice(inside)]))
        texts.append(f"{words[1].upper()} {words[2].capitalize()} {words[3]}\u0301 {words[4]}中{words[5]}")
    # Single letters make words of every length.
    letters = [piece for piece in inside if len(piece) == 1] or ["a"]
    texts += [whole[0] + letters[0] * (length - len(whole[0])) for length in _LONG_WORDS]
    tokens = dict.fromkeys(token.content for each in settings for token in each.added_tokens)
    tokens |= dict.fromkeys(word for each in settings for word in each.never_split)
    for token in tokens:
        if token not in SPECIAL:
            texts.append(f"the {token} a{token}a, {token}{token} {token.upper()} {token.lower()}.")
    return texts
