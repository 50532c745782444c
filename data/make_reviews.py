"""Write the reviews of bert_cli: a table of one's own, as a spreadsheet saves it, and texts without labels.

    python data/make_reviews.py --output_dir=data

writes reviews.csv and new_reviews.txt, the same bytes for the same seed, and prints

    reviews.csv 1200 reviews
    new_reviews.txt 20 reviews

A review has one opinion, or two joined by "but": the second one decides the label. Needs nothing but Python's standard library.
"""

import argparse
import csv
import io
import pathlib
import random

SIZES = {"reviews.csv": 1200, "new_reviews.txt": 20}
THINGS = """the hotel|the room|the breakfast|the soup|the service|the film|the story|the music|the camera|the phone|the bag|
the lamp|the chair|the garden|the tour|the guide|the ticket office|the app|the battery|the bread""".replace(
    "\n", ""
).split("|")
GOOD = """wonderful|lovely|excellent|perfect|delightful|very good|better than I expected|a joy|worth every penny|
just what I needed|great value|as fine as ever""".replace("\n", "").split("|")
BAD = """terrible|awful|poor|a disappointment|broken on the first day|far too expensive|very bad|worse than I feared|
a waste of money|dirty and old|not worth the price|useless""".replace("\n", "").split("|")
LABELS = {"good": GOOD, "bad": BAD}
ENDS = {
    "good": ["I will come back.", "I recommend it to everybody.", "Five stars.", "My children loved it.", ""],
    "bad": ["Never again.", "I want my money back.", "Stay away.", "My children cried.", ""],
}


def review(draw: random.Random, label: str) -> str:
    """A text of the label; one in four begins with an opinion of the other one."""
    other = "bad" if label == "good" else "good"
    thing, second = draw.sample(THINGS, 2)
    verb = draw.choice(["was", "is"])
    opinion = f"{thing} {verb} {draw.choice(LABELS[label])}"
    if draw.random() < 0.25:
        opinion = f"{second} {verb} {draw.choice(LABELS[other])}, but {opinion}"
    return f"{opinion[0].upper()}{opinion[1:]}. {draw.choice(ENDS[label])}".strip()


def make_reviews(seed: int) -> dict[str, str]:
    """Name of each file -> its text; no review is there twice, and half of those of the table are good."""
    draw, found = random.Random(seed), {}
    while len(found) < sum(SIZES.values()):
        label = "good" if len(found) % 2 else "bad"
        found.setdefault(review(draw, label), label)
    rows = list(found.items())
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(["text", "label"])
    writer.writerows(rows[: SIZES["reviews.csv"]])
    new = "".join(f"{text}\n" for text, _ in rows[SIZES["reviews.csv"] :])
    return {"reviews.csv": table.getvalue(), "new_reviews.txt": new}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write reviews.csv and new_reviews.txt.")
    parser.add_argument("--output_dir", type=pathlib.Path, default=pathlib.Path(__file__).parent)
    parser.add_argument("--seed", type=int, default=12345)
    given = parser.parse_args()
    for name, text in make_reviews(given.seed).items():
        (given.output_dir / name).write_text(text, encoding="utf-8")
        print(f"{name} {SIZES[name]} reviews")
