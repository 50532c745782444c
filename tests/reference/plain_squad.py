"""SQuAD windows and answers in the plainest form: dicts, loops and one question at a time.

Written from the description of the original's rules (how windows are cut, how spans are ranked, how the text of an answer
is found, when there is none), to make expected values with and to check the fast ones against.
"""

import math
import re

from plain_tokenizer import tokenize, words_of


def read_questions(squad: dict) -> list[dict]:
    """qas_id, question and the words of the context of each question of a SQuAD file."""
    return [
        {"qas_id": entry["id"], "question": entry["question"], "words": words_of_context(paragraph["context"])}
        for article in squad["data"]
        for paragraph in article["paragraphs"]
        for entry in paragraph["qas"]
    ]


def words_of_context(context: str) -> list[str]:
    return [word for word in re.split("[ \t\r\n\u202f]", context) if word]


def read_training_questions(squad: dict) -> list[dict]:
    """As `read_questions`, with `answer`, `first` and `last`, its text and the numbers of its words, and `is_impossible`.

    A question whose answer does not stand at its answer_start is left out.
    """
    entries = [
        (paragraph["context"], entry)
        for article in squad["data"]
        for paragraph in article["paragraphs"]
        for entry in paragraph["qas"]
    ]
    found = []
    for question, (context, entry) in zip(read_questions(squad), entries, strict=True):
        if entry.get("is_impossible"):
            found.append(question | {"is_impossible": True})
            continue
        (answer,) = entry["answers"]
        start, end = answer["answer_start"], answer["answer_start"] + len(answer["text"])
        # A character stands in the last word that has begun.
        first, last = (len(words_of_context(context[:length])) - 1 for length in (start + 1, end))
        if " ".join(answer["text"].split()) in " ".join(question["words"][first : last + 1]):
            found.append(question | {"answer": answer["text"], "first": first, "last": last, "is_impossible": False})
    return found


def answer_pieces(question: dict, pieces: list[tuple[str, int]], vocabulary, do_lower_case: bool) -> tuple[int, int]:
    """First and last piece of the answer: the first stretch of its words' pieces that is the answer alone, or all."""
    first = sum(word < question["first"] for _, word in pieces)
    last = sum(word <= question["last"] for _, word in pieces) - 1
    wanted = tokenize(question["answer"], vocabulary, do_lower_case)
    for start in range(first, last + 1):
        for end in range(last, start - 1, -1):
            if [piece for piece, _ in pieces[start : end + 1]] == wanted:
                return start, end
    return first, last


def windows(questions, vocabulary, do_lower_case, max_seq_length, doc_stride, max_query_length) -> list[dict]:
    """All windows in the form of the original's features: `[CLS] question [SEP] part of the context [SEP]`.

    Those of training questions have start_position, end_position and is_impossible; a window without the whole answer
    has 0 and 0.
    """
    found = []
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
            places = {len(query) + 2 + i: start + i for i in range(length)}  # position -> piece of the context
            padding = [0] * (max_seq_length - len(tokens))
            labels = {}
            if "is_impossible" in question:
                labels = {"start_position": 0, "end_position": 0, "is_impossible": question["is_impossible"]}
            if "answer" in question:
                first, last = answer_pieces(question, pieces, vocabulary, do_lower_case)
                if start <= first and last < start + length:
                    shift = len(query) + 2 - start
                    labels |= {"start_position": first + shift, "end_position": last + shift}
            found.append(
                {
                    "unique_id": 1000000000 + len(found),
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
    return found


def owner(piece: int, spans: list[tuple[int, int]]) -> int:
    """The window in which a piece has the most context on its poorer side; a longer window wins by a little."""
    scores = [
        min(piece - start, start + length - 1 - piece) + 0.01 * length if start <= piece < start + length else -1
        for start, length in spans
    ]
    return scores.index(max(scores))


def best(logits, count: int) -> list[int]:
    """Positions of the largest logits; of equal ones the first come first."""
    return sorted(range(len(logits)), key=lambda position: -logits[position])[:count]


def spans_of(window: dict, start_logits, end_logits, n_best_size: int, max_answer_length: int):
    """(start, end, start logit, end logit) of all spans of a window that may be an answer."""
    for start in best(start_logits, n_best_size):
        for end in best(end_logits, n_best_size):
            inside = str(start) in window["token_to_orig_map"] and str(end) in window["token_to_orig_map"]
            if not inside or not window["token_is_max_context"][str(start)]:
                continue
            if start <= end < start + max_answer_length:
                yield start, end, start_logits[start], end_logits[end]


def final_text(pred_text: str, orig_text: str, do_lower_case: bool) -> str:
    """The part of `orig_text` that became `pred_text`: pair the characters that are not spaces one to one; if that fails,
    everything.
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
    for value in exponentials:  # sum() of newer Pythons rounds otherwise
        total += value
    return [value / total for value in exponentials]


def predict(questions, all_windows, start_logits, end_logits, do_lower_case, rules: dict) -> dict[str, dict]:
    """predictions, nbest_predictions and, with version_2_with_negative, null_odds, each {qas_id: …}.

    The logits are float lists [windows][max_seq_length] in the order of the windows. `rules` has n_best_size,
    max_answer_length, version_2_with_negative and null_score_diff_threshold.
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
