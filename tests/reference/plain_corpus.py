"""Pre-training corpus in the simplest form: text files to documents, instances to record features."""

from plain_pretraining import PlainInstance, PlainSampler
from plain_tokenizer import tokenize


def read_documents(texts: list[str], vocabulary: dict[str, int], do_lower_case: bool) -> list[list[list[str]]]:
    """Return documents, which are lists of sentences, which are lists of tokens.

    A document does not end at a file's end.
    """
    documents = [[]]
    for text in texts:
        for line in text.removesuffix("\n").split("\n"):
            if not line.strip():
                documents.append([])
            elif tokens := tokenize(line.strip(), vocabulary, do_lower_case):
                documents[-1].append(tokens)
    return [document for document in documents if document]


def record(instance: PlainInstance, vocabulary: dict[str, int], max_seq_length: int, max_predictions: int) -> dict:
    """Return an instance's features under the names in a record, padded."""
    padding = [0] * (max_seq_length - len(instance.tokens))
    slots = [0] * (max_predictions - len(instance.positions))
    return {
        "input_ids": [vocabulary[token] for token in instance.tokens] + padding,
        "input_mask": [1] * len(instance.tokens) + padding,
        "segment_ids": instance.segment_ids + padding,
        "masked_lm_positions": instance.positions + slots,
        "masked_lm_ids": [vocabulary[label] for label in instance.labels] + slots,
        "masked_lm_weights": [1.0] * len(instance.positions) + [0.0] * len(slots),
        "next_sentence_labels": [int(instance.is_random_next)],
    }


def instances(texts: list[str], vocabulary: dict[str, int], flags: dict) -> list[dict]:
    """Return all instances as records, in writing order, for flags of create_pretraining_data.py."""
    max_seq_length, max_predictions = flags.get("max_seq_length", 128), flags.get("max_predictions_per_seq", 20)
    sampler = PlainSampler(
        read_documents(texts, vocabulary, flags.get("do_lower_case", True)),
        list(vocabulary),
        seed=flags.get("random_seed", 12345),
        max_seq_length=max_seq_length,
        max_predictions=max_predictions,
        masked_lm_prob=flags.get("masked_lm_prob", 0.15),
        short_seq_prob=flags.get("short_seq_prob", 0.1),
        whole_word=flags.get("do_whole_word_mask", False),
    )
    instance_list = sampler.all_instances(flags.get("dupe_factor", 10))
    return [record(instance, vocabulary, max_seq_length, max_predictions) for instance in instance_list]
