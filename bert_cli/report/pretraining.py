"""What an evaluation of bert-pretrain shows: blanks of held-out text as the model fills them."""

from typing import Any

from bert_cli.report.parts import Card, Section, percent
from bert_cli.report.run_files import Run


def pretraining_section(run: Run) -> Section:
    """Empty where no vocabulary was known."""
    rows = run.examples.rows if run.examples else []
    shown = [_pieces(row) for row in rows if row["blanks"]]
    if not shown:
        return Section("evaluation", "Evaluation", ())
    note = (
        "Green: the model's first choice is the word of the text. Red: its choice, and behind it the word of the text."
    )
    return Section(
        "evaluation", "Evaluation", (Card("card-blanks", "Filled blanks", "blanks", shown, note, is_wide=True),)
    )


def _pieces(row: dict[str, Any]) -> list[dict[str, Any]]:
    """The word pieces of a sequence; `glued`: it goes on with the word before it."""
    filled = {place: (token, share) for place, token, share in row["blanks"]}
    pieces = []
    for place, token in enumerate(row["tokens"]):
        piece: dict[str, Any] = {"text": token.removeprefix("##"), "glued": token.startswith("##"), "is_blank": False}
        if place in filled:
            choice, share = filled[place]
            piece |= {
                "is_blank": True,
                "choice": choice,
                "share": percent(share),
                "is_right": choice == token,
                "text": token,
            }
        pieces.append(piece)
    return pieces
