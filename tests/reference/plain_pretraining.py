"""Pre-training instances in the simplest form: lists of strings, random.Random, one step at a time.

It follows a description of the original's algorithm and ignores speed. Tests compare the fast
implementation with it.
"""

import random
from typing import NamedTuple


class PlainInstance(NamedTuple):
    tokens: list[str]
    segment_ids: list[int]
    positions: list[int]
    labels: list[str]
    is_random_next: bool


class PlainSampler:
    """Sampler of all instances of documents, in writing order.

    Documents are lists of sentences, which are lists of tokens.
    """

    def __init__(
        self, documents, words, seed=12345, max_seq_length=128, max_predictions=20, masked_lm_prob=0.15,
        short_seq_prob=0.1, whole_word=False,
    ):  # fmt: skip
        """Store the settings; `words` are the vocabulary's distinct tokens, in order."""
        self.rng = random.Random(seed)
        self.documents = list(documents)
        self.words = words
        self.budget = max_seq_length - 3
        self.max_predictions, self.masked_lm_prob = max_predictions, masked_lm_prob
        self.short_seq_prob, self.whole_word = short_seq_prob, whole_word

    def all_instances(self, dupe_factor: int) -> list[PlainInstance]:
        self.rng.shuffle(self.documents)
        instances = []
        for _ in range(dupe_factor):
            for number in range(len(self.documents)):
                instances += self.document_instances(number)
        self.rng.shuffle(instances)
        return instances

    def document_instances(self, number: int) -> list[PlainInstance]:
        sentences = list(self.documents[number])
        target = self.budget
        if self.rng.random() < self.short_seq_prob:
            target = self.rng.randint(2, self.budget)
        instances = []
        while sentences:
            chunk = []
            while sentences and sum(map(len, chunk)) < target:
                chunk.append(sentences.pop(0))
            cut = self.rng.randint(1, len(chunk) - 1) if len(chunk) > 1 else 1
            a = [token for sentence in chunk[:cut] for token in sentence]
            is_random_next = len(chunk) == 1 or self.rng.random() < 0.5
            if is_random_next:
                b = self.random_text(number, target - len(a))
                sentences = chunk[cut:] + sentences
            else:
                b = [token for sentence in chunk[cut:] for token in sentence]
            self.truncate(a, b)
            instances.append(self.mask_tokens(a, b, is_random_next))
        return instances

    def random_text(self, number: int, length: int) -> list[str]:
        for _ in range(10):
            chosen = self.rng.randint(0, len(self.documents) - 1)
            if chosen != number:
                break
        document = self.documents[chosen]
        text = []
        for sentence in document[self.rng.randint(0, len(document) - 1) :]:
            text += sentence
            if len(text) >= length:
                break
        return text

    def truncate(self, a: list[str], b: list[str]) -> None:
        while len(a) + len(b) > self.budget:
            longer = a if len(a) > len(b) else b
            longer.pop(0 if self.rng.random() < 0.5 else -1)

    def mask_tokens(self, a: list[str], b: list[str], is_random_next: bool) -> PlainInstance:
        tokens = ["[CLS]", *a, "[SEP]", *b, "[SEP]"]
        words = []
        for position, token in enumerate(tokens):
            if token in ("[CLS]", "[SEP]"):
                continue
            if self.whole_word and words and token.startswith("##"):
                words[-1].append(position)
            else:
                words.append([position])
        self.rng.shuffle(words)
        max_masked = min(self.max_predictions, max(1, round(len(tokens) * self.masked_lm_prob)))
        originals, labels = list(tokens), {}
        for word in words:
            if len(labels) + len(word) > max_masked:
                continue
            for position in word:
                labels[position] = originals[position]
                if self.rng.random() < 0.8:
                    tokens[position] = "[MASK]"
                elif self.rng.random() >= 0.5:
                    tokens[position] = self.words[self.rng.randint(0, len(self.words) - 1)]
        segment_ids = [0] * (len(a) + 2) + [1] * (len(b) + 1)
        positions = sorted(labels)
        return PlainInstance(tokens, segment_ids, positions, [labels[place] for place in positions], is_random_next)
