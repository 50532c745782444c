"""Counts of answers that flags about lengths make impossible, as sentences for the log."""

from collections.abc import Collection, Sequence

import numpy as np

from bert_cli.features.squad import SquadFeatures
from bert_cli.text.tokenization import FullTokenizer

# Word pieces per question: its answer, or its shortest correct answer.
Lengths = np.ndarray


def measure_gold_answers(
    answers_of_questions: Collection[Sequence[str]], tokenizer: FullTokenizer, max_length: int
) -> Lengths:
    """Measure each question's shortest answer in word pieces, int32; 0 for impossible questions.

    Answers that certainly fit have their number of characters, which saves their tokenization.

    Args:
        answers_of_questions: correct answers per question.
        max_length: word pieces that any answer may have.
    """
    lengths = [
        # A word piece has at least one character.
        min((len(text) if len(text) <= max_length else len(tokenizer.encode(text)) for text in answers), default=0)
        for answers in answers_of_questions
    ]
    return np.array(lengths, np.int32)


def describe_long_answers(lengths: Lengths, max_answer_length: int) -> str:
    """Return a sentence about answers that are too long to be predicted, or "".

    Args:
        lengths: word pieces per answer, 0 for impossible questions.
        max_answer_length: maximum word pieces in a predicted answer.
    """
    num_long = int((lengths > max_answer_length).sum())
    if not num_long:
        return ""
    return (
        f"{num_long} of {(lengths > 0).sum()} answers have more tokens than --max_answer_length={max_answer_length}, "
        f"so no prediction can be equal to them; --max_answer_length={lengths.max()} suffices"
    )


def describe_missed_answers(features: SquadFeatures, max_seq_length: int, doc_stride: int) -> str:
    """Return a sentence about training answers that no window contains, or "".

    Args:
        features: windows with the answers' positions.
        max_seq_length: maximum tokens per window.
        doc_stride: distance between window starts.
    """
    missed = features.answer_lengths > 0
    missed[features.example_index[features.start_positions > 0]] = False
    return _describe_missed(features, features.answer_lengths, missed, max_seq_length, doc_stride)


def describe_too_long_answers(features: SquadFeatures, lengths: Lengths, max_seq_length: int, doc_stride: int) -> str:
    """Return a sentence about correct answers that are longer than a window's context, or "".

    Args:
        features: windows for prediction, which have no positions of answers.
        lengths: word pieces in each question's shortest answer.
        max_seq_length: maximum tokens per window.
        doc_stride: distance between window starts.
    """
    missed = lengths > max_seq_length - _special_and_query(features)
    return _describe_missed(features, lengths, missed, max_seq_length, doc_stride)


def _special_and_query(features: SquadFeatures) -> np.ndarray:
    """Return the tokens of each example's windows that are not context, int [num_examples]."""
    lengths = np.full(features.num_examples, 3)
    lengths[features.example_index] = features.query_lengths + 3
    return lengths


def _describe_missed(
    features: SquadFeatures, lengths: Lengths, missed: np.ndarray, max_seq_length: int, doc_stride: int
) -> str:
    if not missed.any():
        return ""
    # An example's windows own each piece of its context once.
    owned = features.owned[:, 1] - features.owned[:, 0]
    contexts = np.bincount(features.example_index, owned, features.num_examples)[missed].astype(int)
    answers, others = lengths[missed], _special_and_query(features)[missed]
    # An answer may begin up to doc_stride - 1 pieces after a window's start.
    needed = others + np.minimum(contexts, doc_stride - 1 + answers)
    stride = int((max_seq_length - others - answers + 1).min())
    remedies = [f"--doc_stride={stride}"] if stride > 0 else []
    remedies.append(f"--max_seq_length={needed.max()}")
    return (
        f"{missed.sum()} of {(lengths > 0).sum()} answers are not completely in any window of "
        f"--max_seq_length={max_seq_length} and --doc_stride={doc_stride}, so they cannot be learned or predicted; "
        f"{' or '.join(remedies)} suffices"
    )
