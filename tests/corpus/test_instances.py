"""Instances from documents: by hand, compared with a plain implementation, and as rows."""

import random
from array import array

import numpy as np
import pytest
from plain_pretraining import PlainSampler

from bert_cli.base.spec import pretraining_features
from bert_cli.corpus.instance_rows import RowFormat, count_rows
from bert_cli.corpus.instances import Instance, Sampling, document_instances, make_masking
from bert_cli.corpus.random_draws import shuffle
from bert_cli.corpus.store import Corpus, store_corpus
from bert_cli.corpus.text import TokenizedBlock

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = [f"{'##' if number % 3 == 0 else ''}w{number}" for number in range(40)]
IDS = {token: index for index, token in enumerate([*SPECIAL, *WORDS])}


@pytest.fixture
def store_documents(tmp_path):
    """Return a function that stores documents (lists of sentences of ids) as an open Corpus."""
    opened = []

    def store(documents) -> Corpus:
        sentences = [sentence for document in documents for sentence in document]
        ends = np.cumsum([len(document) for document in documents]).tolist()
        tokens = array("H", [token for sentence in sentences for token in sentence])
        block = TokenizedBlock(tokens, array("I", map(len, sentences)), ends, 0, 0)
        corpus = Corpus(store_corpus([block], str(tmp_path), "H"))
        opened.append(corpus)
        return corpus

    yield store
    for corpus in opened:
        corpus.__exit__()


class PreparedDraws:
    """Random generator with prepared values, which also checks the order of method calls.

    Args:
        *draws: pairs (method, value). The method is "random", or getrandbits' number of bits.
    """

    def __init__(self, *draws):
        self.draws = list(draws)

    def random(self):
        method, value = self.draws.pop(0)
        assert method == "random"
        return value

    def getrandbits(self, bits):
        method, value = self.draws.pop(0)
        assert method == bits
        return value


def sampling(max_seq_length=128, short_seq_prob=0.1, max_predictions=20, prob=0.15, whole_word=False):
    return Sampling(max_seq_length, short_seq_prob, make_masking(IDS, max_predictions, prob, whole_word))


def test_instances_computed_by_hand(store_documents):
    """Special tokens have ids 0 to 4; a sequence of 8 has space for 5 tokens of text."""
    corpus = store_documents([[[10, 11], [12], [13, 14, 15]], [[20, 21], [22, 23, 24]]])
    draws = PreparedDraws(
        ("random", 0.9),  # full length: the target is 5 tokens, and the chunk has all three sentences
        (2, 1),  # randint(1, 2) = 2 sentences for A: 10 11 12
        ("random", 0.3),  # B is random
        (2, 0),  # document 0 is this one: draw again
        (2, 3),  # not below 2: draw again
        (2, 1),  # document 1
        (2, 1),  # B starts at sentence 1: 22 23 24. With A, 10 11 12, one token is too many
        ("random", 0.6),  # drop it from B's end
        *[(3, 4), (3, 3), (2, 2), (2, 1)],  # shuffling keeps the candidates 1 2 3 5 6
        *[("random", 0.1)],  # mask round(8 * 0.25) = 2: the first becomes [MASK]
        *[("random", 0.8), ("random", 0.5), (6, 44)],  # the second becomes random token 44
        # The next chunk has only sentence 2, so that B is random without a draw.
        *[(2, 1), (2, 0)],  # document 1, sentence 0; 5 - 3 = 2 tokens: 20 21
        *[(3, 0), (3, 0), (2, 0), (2, 0)],  # 1 2 3 5 6 -> 6 2 3 5 1 -> 5 2 3 6 1 -> 3 2 5 6 1 -> 2 3 5 6 1
        *[("random", 0.8), ("random", 0.49)],  # position 2 is unchanged
        *[("random", 0.79)],  # position 3 becomes [MASK]
    )
    instances = list(document_instances(corpus, range(2), 0, sampling(8, prob=0.25), draws))
    assert instances == [
        Instance([2, 4, 44, 12, 3, 22, 23, 3], 5, [1, 2], [10, 11], True, 1),
        Instance([2, 13, 14, 4, 3, 20, 21, 3], 5, [2, 3], [14, 15], True, 0),
    ]
    assert draws.draws == []


def random_documents(rng: random.Random, num_documents: int, longest_document: int, longest_sentence: int):
    return [
        [
            [rng.choice(WORDS) for _ in range(rng.randint(1, longest_sentence))]
            for _ in range(rng.randint(1, longest_document))
        ]
        for _ in range(num_documents)
    ]


@pytest.mark.parametrize("whole_word", [False, True])
@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((12, 20, 12), {"max_seq_length": 64}),
        ((5, 30, 60), {"max_seq_length": 40, "max_predictions": 4}),  # sentences longer than a sequence
        ((30, 1, 9), {"max_seq_length": 32}),  # documents of one sentence
        ((1, 40, 9), {"max_seq_length": 32}),  # a single document
        ((40, 3, 3), {"max_seq_length": 128, "short_seq_prob": 1.0}),
        ((6, 12, 5), {"max_seq_length": 5, "short_seq_prob": 0.5, "masked_lm_prob": 1.0}),
        ((9, 12, 5), {"max_seq_length": 20, "masked_lm_prob": 0.5, "max_predictions": 1}),
    ],
)
def test_instances_equal_the_plain_implementation(store_documents, shape, options, whole_word):
    documents = random_documents(random.Random(repr(shape)), *shape)
    corpus = store_documents([[[IDS[token] for token in sentence] for sentence in document] for document in documents])
    plain = PlainSampler(documents, list(IDS), seed=99, whole_word=whole_word, **options)
    expected = plain.all_instances(dupe_factor=3)

    names = {"masked_lm_prob": "prob"}
    sampling_rules = sampling(
        **{names.get(name, name): value for name, value in options.items()}, whole_word=whole_word
    )
    rng = random.Random(99)
    order = list(range(len(documents)))
    shuffle(rng.getrandbits, order)
    instances = [
        instance
        for _ in range(3)
        for index in range(len(documents))
        for instance in document_instances(corpus, order, index, sampling_rules, rng)
    ]
    shuffle(rng.getrandbits, instances)

    tokens = list(IDS)
    assert len(instances) == len(expected)
    for ours, theirs in zip(instances, expected, strict=True):
        assert [tokens[index] for index in ours.token_ids] == theirs.tokens
        assert ours.segment_start == theirs.segment_ids.index(1)
        assert ours.positions == theirs.positions
        assert [tokens[index] for index in ours.labels] == theirs.labels
        assert ours.is_random_next == theirs.is_random_next
    assert rng.getstate() == plain.rng.getstate()


def test_every_token_is_used_or_counted_as_dropped(store_documents):
    """The document has 60 sentences of 7 tokens, all with different ids."""
    numbers = iter(range(5, 1000))
    corpus = store_documents([[[next(numbers) for _ in range(7)] for _ in range(60)]])
    rng = random.Random(5)
    seen, dropped = set(), 0
    for instance in document_instances(corpus, [0], 0, sampling(50, short_seq_prob=0.0), rng):
        tokens = list(instance.token_ids)
        for position, label in zip(instance.positions, instance.labels, strict=True):
            tokens[position] = label
        assert len(tokens) <= 50
        assert (tokens[0], tokens[instance.segment_start - 1], tokens[-1]) == (2, 3, 3)
        seen |= set(tokens) - {2, 3}
        dropped += instance.num_dropped
    assert 0 < 420 - len(seen) <= dropped


def test_rows_become_features():
    instances = [
        Instance([2, 4, 11, 3, 12, 3], 4, [1], [10], True, 7),
        Instance([2, 9, 3, 8, 4, 4, 7, 3], 3, [4, 5], [6, 5], False, 100_000),
    ]
    form = RowFormat(8, 2, "H")
    table = form.unpack(b"".join(map(form.pack, instances)))
    assert (table.shape, form.size) == ((2, 17), 34)
    features = form.features(table)
    assert {name: values.tolist() for name, values in features.items()} == {
        "input_ids": [[2, 4, 11, 3, 12, 3, 0, 0], [2, 9, 3, 8, 4, 4, 7, 3]],
        "input_mask": [[1, 1, 1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1, 1, 1]],
        "segment_ids": [[0, 0, 0, 0, 1, 1, 0, 0], [0, 0, 0, 1, 1, 1, 1, 1]],
        "masked_lm_positions": [[1, 0], [4, 5]],
        "masked_lm_ids": [[10, 0], [6, 5]],
        "masked_lm_weights": [[1.0, 0.0], [1.0, 1.0]],
        "next_sentence_labels": [[1], [0]],
    }
    for feature in pretraining_features(8, 2):
        values = features[feature.name]
        assert (values.dtype, values.shape) == (np.dtype(feature.dtype), (2, feature.length))
    assert count_rows(table, make_masking(IDS, 2, 0.15)) == {
        "instances": 2,
        "instance_tokens": 14,
        "predictions": 3,
        "random_next": 1,
        "truncated_instances": 2,
        "dropped_tokens": 7 + 65535,
    }


@pytest.mark.parametrize(
    ("vocab_size", "max_seq_length", "expected"),
    [(30522, 128, "H"), (65535, 512, "H"), (119547, 128, "I"), (99, 70_000, "I")],
)
def test_typecode_fits_vocabulary_and_sequence_length(vocab_size, max_seq_length, expected):
    masking = make_masking(dict.fromkeys(("[CLS]", "[SEP]"), 0) | {"[MASK]": vocab_size - 1}, 20, 0.15)
    assert RowFormat.of(Sampling(max_seq_length, 0.1, masking)).typecode == expected
