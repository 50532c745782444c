"""SQuAD windows and answers in the simplest form: dicts, loops and one question at a time.

It follows a description of the original's rules: how contexts are split into windows, how spans are
ranked, how an answer's text is found, and when a question has no answer. It gives expected values,
and tests compare the fast implementation with it.
"""

import math
import re

from plain_tokenizer import tokenize, words_of


def read_questions(squad: dict) -> list[dict]:
    """Return qas_id, question and context words for all questions in a SQuAD file."""
    return [
        {"qas_id": entry["id"], "question": entry["question"], "words": words_of_context(paragraph["context"])}
        for article in squad["data"]
        for paragraph in article["paragraphs"]
        for entry in paragraph["qas"]
    ]


def words_of_context(context: str) -> list[str]:
    return [word for word in re.split("[ \t\r\n\u202f]", context) if word]


def read_training_questions(squad: dict) -> list[dict]:
    """Return the questions of `read_questions` with their answers.

    They have `answer` (the text), `first` and `last` (the indices of its words), and
    `is_impossible`. A question is skipped if its answer is not at its answer_start.
    """
    entries = [
        (paragraph["context"], entry)
        for article in squad["data"]
        for paragraph in article["paragraphs"]
        for entry in paragraph["qas"]
    ]
    questions = []
    for question, (context, entry) in zip(read_questions(squad), entries, strict=True):
        if entry.get("is_impossible"):
            questions.append(question | {"is_impossible": True})
            continue
        (answer,) = entry["answers"]
        start, end = answer["answer_start"], answer["answer_start"] + len(answer["text"])
        # A character is in the last word that has begun.
        first, last = (len(words_of_context(context[:length])) - 1 for length in (start + 1, end))
        if " ".join(answer["text"].split()) in " ".join(question["words"][first : last + 1]):
            questions.append(
                question | {"answer": answer["text"], "first": first, "last": last, "is_impossible": False}
            )
    return questions


def answer_pieces(question: dict, pieces: list[tuple[str, int]], vocabulary, do_lower_case: bool) -> tuple[int, int]:
    """Return the answer's first and last piece.

    They are the first run of pieces in its words that equals the answer, or else all pieces of its
    words.
    """
    first = sum(word < question["first"] for _, word in pieces)
    last = sum(word <= question["last"] for _, word in pieces) - 1
    answer = tokenize(question["answer"], vocabulary, do_lower_case)
    for start in range(first, last + 1):
        for end in range(last, start - 1, -1):
            if [piece for piece, _ in pieces[start : end + 1]] == answer:
                return start, end
    return first, last


def windows(questions, vocabulary, do_lower_case, max_seq_length, doc_stride, max_query_length) -> list[dict]:
    """Return all windows as the original's features: `[CLS] question [SEP] context part [SEP]`.

    With training questions they have start_position, end_position and is_impossible; the positions
    are 0 if a window does not contain the whole answer.
    """
    window_dicts = []
    for index, question in enumerate(questions):
        query = tokenize(question["question"], vocabulary, do_lower_case)[:max_query_length]
        pieces = [
            (piece, number)
            for number, word in enumerate(question["words"])
            for piece in tokenize(word, vocabulary, do_lower_case)
        ]
        room = max_seq_length - len(query) - 3
        spans = [(0, min(room, len(pieces)))] if pieces else []
        while spans and sum(spans[-1]) < len(pieces):
            start = spans[-1][0] + min(spans[-1][1], doc_stride)
            spans.append((start, min(room, len(pieces) - start)))
        for number, (start, length) in enumerate(spans):
            tokens = ["[CLS]", *query, "[SEP]", *(piece for piece, _ in pieces[start : start + length]), "[SEP]"]
            places = {len(query) + 2 + i: start + i for i in range(length)}  # position -> piece in the context
            padding = [0] * (max_seq_length - len(tokens))
            labels = {}
            if "is_impossible" in question:
                labels = {"start_position": 0, "end_position": 0, "is_impossible": question["is_impossible"]}
            if "answer" in question:
                first, last = answer_pieces(question, pieces, vocabulary, do_lower_case)
                if start <= first and last < start + length:
                    shift = len(query) + 2 - start
                    labels |= {"start_position": first + shift, "end_position": last + shift}
            window_dicts.append(
                {
                    "unique_id": 1000000000 + len(window_dicts),
                    "example_index": index,
                    "doc_span_index": number,
                    "qas_id": question["qas_id"],
                    "tokens": tokens,
                    "token_to_orig_map": {str(place): pieces[piece][1] for place, piece in places.items()},
                    "token_is_max_context": {
                        str(place): owner(piece, spans) == number for place, piece in places.items()
                    },
                    "input_ids": [vocabulary[token] for token in tokens] + padding,
                    "input_mask": [1] * len(tokens) + padding,
                    "segment_ids": [0] * (len(query) + 2) + [1] * (length + 1) + padding,
                }
                | labels
            )
    return window_dicts


def owner(piece: int, spans: list[tuple[int, int]]) -> int:
    """Return the window that gives a piece most context on its shorter side.

    A longer window wins a tie.
    """
    scores = [
        min(piece - start, start + length - 1 - piece) + 0.01 * length if start <= piece < start + length else -1
        for start, length in spans
    ]
    return scores.index(max(scores))


def best(logits, count: int) -> list[int]:
    """Return the positions of the largest logits; ties keep their order."""
    return sorted(range(len(logits)), key=lambda position: -logits[position])[:count]


def spans_of(window: dict, start_logits, end_logits, n_best_size: int, max_answer_length: int):
    """Yield (start, end, start logit, end logit) for a window's spans that may be answers."""
    for start in best(start_logits, n_best_size):
        for end in best(end_logits, n_best_size):
            inside = str(start) in window["token_to_orig_map"] and str(end) in window["token_to_orig_map"]
            if not inside or not window["token_is_max_context"][str(start)]:
                continue
            if start <= end < start + max_answer_length:
                yield start, end, start_logits[start], end_logits[end]


def final_text(pred_text: str, orig_text: str, do_lower_case: bool) -> str:
    """Return the part of `orig_text` that became `pred_text`, or all of it if that fails.

    It pairs the characters that are not spaces one by one.
    """
    tok_text = " ".join(words_of(orig_text, do_lower_case))
    start = tok_text.find(pred_text)
    tok_places = [i for i, character in enumerate(tok_text) if character != " "]
    orig_places = [i for i, character in enumerate(orig_text) if character != " "]
    end = start + len(pred_text) - 1
    if start < 0 or len(tok_places) != len(orig_places) or start not in tok_places or end not in tok_places:
        return orig_text
    return orig_text[orig_places[tok_places.index(start)] : orig_places[tok_places.index(end)] + 1]


def answer_text(window: dict, words: list[str], start: int, end: int, do_lower_case: bool) -> str:
    pieces = " ".join(window["tokens"][start : end + 1]).replace(" ##", "").replace("##", "")
    of_words = window["token_to_orig_map"]
    orig_text = " ".join(words[of_words[str(start)] : of_words[str(end)] + 1])
    return final_text(" ".join(pieces.split()), orig_text, do_lower_case)


def probabilities(scores: list[float]) -> list[float]:
    exponentials = [math.exp(score - max(scores)) for score in scores]
    total = 0.0
    for value in exponentials:  # sum() rounds differently in newer Python versions
        total += value
    return [value / total for value in exponentials]


def predict(questions, all_windows, start_logits, end_logits, do_lower_case, rules: dict) -> dict[str, dict]:
    """Return predictions, nbest_predictions and, with version_2_with_negative, null_odds.

    Each is a dict by qas_id.

    Args:
        questions: questions from `read_questions`.
        all_windows: their windows.
        start_logits, end_logits: float lists [windows][max_seq_length], in window order.
        do_lower_case: whether the tokenizer lower-cases.
        rules: n_best_size, max_answer_length, version_2_with_negative and
            null_score_diff_threshold.
    """
    with_null = rules["version_2_with_negative"]
    files = {"predictions": {}, "nbest_predictions": {}} | ({"null_odds": {}} if with_null else {})
    for index, question in enumerate(questions):
        rows = [row for row, window in enumerate(all_windows) if window["example_index"] == index]
        candidates = [
            (row, *span)
            for row in rows
            for span in spans_of(
                all_windows[row], start_logits[row], end_logits[row], rules["n_best_size"], rules["max_answer_length"]
            )
        ]
        if with_null:
            null = min(((start_logits[row][0], end_logits[row][0]) for row in rows), key=sum)
            candidates.append((None, 0, 0, *null))
        candidates.sort(key=lambda candidate: -(candidate[3] + candidate[4]))
        entries: dict[str, tuple[float, float]] = {}  # text -> logits, best first
        for row, start, end, *logits in candidates:
            if len(entries) < rules["n_best_size"]:
                text = ""
                if row is not None:
                    text = answer_text(all_windows[row], question["words"], start, end, do_lower_case)
                entries.setdefault(text, tuple(logits))
        if with_null:
            entries.setdefault("", null)
        entries = entries or {"empty": (0.0, 0.0)}
        shares = probabilities([sum(logits) for logits in entries.values()])
        qas_id = question["qas_id"]
        files["nbest_predictions"][qas_id] = [
            {"text": text, "probability": share, "start_logit": logits[0], "end_logit": logits[1]}
            for (text, logits), share in zip(entries.items(), shares, strict=True)
        ]
        answer = next(text for text in entries if text or not with_null)
        if with_null:
            odds = sum(null) - entries[answer][0] - entries[answer][1]
            files["null_odds"][qas_id] = odds
            answer = "" if odds > rules["null_score_diff_threshold"] else answer
        files["predictions"][qas_id] = answer
    return files
