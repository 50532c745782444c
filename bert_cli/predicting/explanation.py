"""Explanation of a classifier's prediction: each word's share in a text's score."""

from typing import Any

from bert_cli.features.classification import ClassificationFeatures
from bert_cli.features.occlusion import WordTokens, masked_rows, uncovering_orders, word_shares, word_tokens
from bert_cli.inference.rows import Predictor
from bert_cli.predicting.decoder import Decoder
from bert_cli.problem_types.columns import significant
from bert_cli.text.tokenization import FullTokenizer

BUDGET = 512  # masked copies per text, for --explain


def text_record(text_a: str, text_b: str | None) -> dict[str, str]:
    """Return the keys for the text or pair in a JSON line with a prediction."""
    return {"text": text_a} | ({} if text_b is None else {"text_b": text_b})


def tokenize_for_explanation(
    predictor: Predictor, tokenizer: FullTokenizer, text_a: str, text_b: str | None
) -> WordTokens:
    """Return a text's or pair's tokens, as one sequence even if the model uses windows.

    Args:
        predictor: the opened model, which has the sequence length.
        tokenizer: the model's tokenizer.
        text_a: the text.
        text_b: second text of a pair, or None.
    """
    return word_tokens(text_a, text_b, tokenizer, predictor.max_seq_length)


def explain(
    predictor: Predictor,
    decoder: Decoder,
    tokenizer: FullTokenizer,
    tokens: WordTokens,
    batch_size: int,
    budget: int = BUDGET,
) -> dict[str, Any]:
    """Return the prediction for a text, and each word's share in the score.

    The result has these keys:

    label, probability                      prediction for single-label classification
    labels, explained_label, probability    prediction for multi-label classification
    value                                   prediction for regression
    score, masked_score                     score of the text, without and with all words masked
    words                                   {"word", "share"} per word in text order, with
                                            "text_b": true for the second text

    The shares add up to score − masked_score.

    Args:
        predictor: the opened model.
        decoder: decoder for the model's predictions.
        tokenizer: the model's tokenizer.
        tokens: result of tokenize_for_explanation.
        batch_size: rows per batch.
        budget: approximate number of masked copies to predict.
    """
    problem_type, labels = decoder.problem_type, decoder.labels
    # Use a fixed seed: the same text must have the same shares in every call.
    orders = uncovering_orders(len(tokens.seen), budget, seed=0)
    sequences = masked_rows(tokens, orders, tokenizer)
    ids = tuple(map(str, range(len(sequences))))
    # The features need labels, but nothing reads the losses, so missing labels are enough.
    label_ids = problem_type.reader.label_array([None] * len(ids), labels.names)
    # Even for a model with windows, each masked copy is one sequence.
    features = ClassificationFeatures(sequences, label_ids, ids)
    predictions = decoder.infer(predictor, features, batch_size, None)
    prediction, values = problem_type.decoder.explained_score(predictions, labels)
    shares = word_shares(tokens, orders, values)
    words: list[dict[str, Any]] = [
        {"word": word, "share": significant(share)} | ({"text_b": True} if is_second else {})
        for word, share, is_second in zip(tokens.words, shares.tolist(), tokens.is_second, strict=True)
    ]
    return prediction | {
        "score": significant(values[0]),
        "masked_score": significant(values[1]),
        "words": words,
    }
