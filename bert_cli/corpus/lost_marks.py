"""Words of a text that stripping accents would damage: they lose vowels, or become another word."""

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from bert_cli.text.tokenization import BasicTokenizer, chunks
from bert_cli.text.tokenizer_settings import TokenizerSettings
from bert_cli.text.vowel_marks import has_marks, has_vowel_marks, strip_marks

# Shares of running words in wordfreq's lists for 42 languages. Marks that are vowels: 2.5 % in
# Persian, 11 % in Japanese, 36 % in Vietnamese, 49 % in Hindi; 0 % in European languages. Words
# that become a more frequent one, where three or more words become one: 24 % in Vietnamese, at most
# 2.5 % in European languages (Romanian), 1.3 % in French.
_VOWEL_SHARE = 0.01
_MERGED_SHARE = 0.1
_MIN_FORMS = 3  # words that become one; a short text with "resume" and "résumé" is no sign
_NUM_EXAMPLES = 3
_NUM_FORMS = 5

_KEEPING_MARKS = BasicTokenizer(True, cache_size=0, settings=TokenizerSettings(strip_accents=False))


def count_marked_words(text: str) -> Counter[str]:
    """Return the occurrences of words that stripping accents changes, with their marks.

    The words are lower-cased.
    """
    lines = [line for line in text.split("\n") if not line.isascii()]
    marked: Counter[str] = Counter()
    for chunk, count in Counter(chunk for line in lines for chunk in chunks(line)).items():
        if not chunk.isascii():
            for word in _KEEPING_MARKS.split_chunk(chunk):
                if has_marks(word):
                    marked[word] += count
    return marked


@dataclasses.dataclass(frozen=True)
class LostMarks:
    """Words that stripping accents damages.

    Attributes:
        count: running words that are damaged.
        consequence: what happens to these words.
        examples: damaged words, most frequent first.
    """

    count: int
    consequence: str
    examples: tuple[str, ...]


def find_lost_marks(marked: Mapping[str, int], counts: Sequence[tuple[str, int]]) -> LostMarks | None:
    """Return the damage that stripping accents does to a text, or None if it is small.

    It is small in European languages.

    Args:
        marked: result of `count_marked_words`.
        counts: all words without their marks, with their counts.
    """
    total = sum(count for _, count in counts)
    if merged := _find_merged(marked, dict(counts), total):
        return merged
    vowels = Counter({word: count for word, count in marked.items() if has_vowel_marks(word)})
    if vowels.total() >= _VOWEL_SHARE * total > 0:
        examples = tuple(f"{word} becomes {strip_marks(word)}" for word, _ in vowels.most_common(_NUM_EXAMPLES))
        return LostMarks(vowels.total(), "lose marks that are vowels, tones or parts of letters", examples)
    return None


def _find_merged(marked: Mapping[str, int], counts: Mapping[str, int], total: int) -> LostMarks | None:
    forms: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for word, count in marked.items():
        forms[strip_marks(word)][word] = count
    losses: Counter[str] = Counter()
    for stripped, words in forms.items():
        if plain_count := counts.get(stripped, 0) - words.total():
            words[stripped] = plain_count
        if len(words) >= _MIN_FORMS:
            losses[stripped] = words.total() - max(words.values())
    if not losses or losses.total() < _MERGED_SHARE * total:
        return None
    examples = tuple(
        f"{', '.join(word for word, _ in forms[stripped].most_common(_NUM_FORMS))} become {stripped}"
        for stripped, _ in losses.most_common(_NUM_EXAMPLES)
    )
    return LostMarks(losses.total(), "become the same as another word of the text", examples)
