"""Write the tagging sample of bert_cli: English sentences with tagged names of invented people, places, firms and things.

    python data/make_tagging.py --output_dir=data/tagging

writes train.txt, dev.txt and test.txt, the same bytes for the same seed, and prints

    train.txt 2000 sentences
    dev.txt 300 sentences
    test.txt 300 sentences

A file has one word and its tag (BIO) on each line, a tab between them, and a blank line behind each sentence. Needs
nothing but Python's standard library.

In the templates below (a|b|c) is a choice, (a|) may be left out, {PER} {LOC} {ORG} {PRODUCT} {DATE} are names of these
types, {n} is a number that is part of no name, and "|Rose=PER" at the end says that the word Rose is the name of a person.
"""

import argparse
import dataclasses
import pathlib
import random
import re

HERE = pathlib.Path(__file__).parent
INNERMOST_CHOICE = re.compile(r"\(([^()]*)\)")


def listed(text: str) -> list[str]:
    return text.split()


FIRST_NAMES = listed("""
Anna Bert Clara David Edith Frank Greta Harold Ida Jacob Karin Leo Maria Nils Olga Paul Rosa Simon Tessa Victor Wanda Emil
Hedda Ivo Jonas Lydia Milo Nora Oskar Petra Ruth Sven Thea Ugo Vera Walter Alma Bruno Celia Dora Elmer Flora Gustav Hilda
""")
# These are ordinary words or months too; the templates use them as both.
WORD_NAMES = listed("Will Mark Rose Grace Hope May June April August")
# Invented names are a stem and an ending. Any may be a family, a place, a firm or a thing, some of them are two of these.
STEMS = listed("""
Bran Vel Tor Quill Har Mos Drin Fenn Gal Hest Jor Kel Lund Mar Nor Ost Pel Ran Sel Tarn Ul Wex Yar Zell Cald Dun Esk Farr
Grim Holl
""")
ENDINGS = listed("ton ford wick more by ley stad mann ner sen ova ix ora ano elle en")
MONTHS = listed("January February March April May June July August September October November December")
DAYS = listed("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")

# How a name N of each type is written; F is a first name. A line more often taken stands more often.
FORMS = {
    "PER": ["F N", "F N", "F N", "F", "F", "N", "F F N"],
    "LOC": ["N", "N", "N", "N", "New N", "North N", "Lake N", "N Street", "N Bridge", "N Hill", "Port N"],
    "ORG": ["N", "N", "N Bank", "N & Sons", "N Railway", "University of N", "Bank of N", "N United", "N Paper Company"],
    "PRODUCT": ["N", "N", "N 7", "N 300", "N X", "N Mark 2", "N Light"],
}

TEMPLATES = """
{PER} (met|visited|called|married|forgot|helped) {PER} (in {LOC}|on {DATE}|) .
{PER} (lives|was born|died|grew up) (in|near) {LOC} .
{PER} , (who|a doctor who|a painter who) lived in {LOC} , died (in|on) {DATE} .
On {DATE} , {PER} left {LOC} for {LOC} .
{PER} and {PER} work for {ORG} (in {LOC}|) .
{PER} left {ORG} (in|on) {DATE} .
{ORG} (hired|dismissed|sued|paid) {PER} (on {DATE}|) .
{ORG} (bought|sold|built) {n} houses in {LOC} .
{ORG} bought {ORG} for {n} million pounds .
The (director|head|owner) of {ORG} , {PER} , (said|told us|wrote) that the price (rises|falls) .
" We shall not wait " , said {PER} of {ORG} .
Shares of {ORG} fell to {n} on {DATE} .
{ORG} will (close|open) its (office|shop|school) in {LOC} (on {DATE}|) .
{ORG} beat {ORG} {n} to {n} (in {LOC}|) .
{LOC} is (a town|a village|a city) (north|south|east|west) of {LOC} .
The (road|train|river|boat) from {LOC} to {LOC} (was|is) closed (on {DATE}|) .
There was (snow|rain|a storm|a fire) in {LOC} (on {DATE}|yesterday|) .
The people of {LOC} (built|burnt|saved) the bridge in {DATE} .
(We|They) (walked|drove|rode) from {LOC} to {LOC} (with {PER}|) .
{PER} bought (a|the new|an old) {PRODUCT} (in {LOC}|from {ORG}|) .
{ORG} (showed|sells|made) the (new|first|cheap) {PRODUCT} (on {DATE}|) .
The {PRODUCT} is (faster|lighter|better) than the {PRODUCT} .
My {PRODUCT} (broke|stopped|fell down) on {DATE} .
(He|She) wrote the letter on a {PRODUCT} .
{n} of the {PRODUCT} were sold (in {LOC}|in {DATE}|) .
Does the {PRODUCT} work in (snow|rain|the dark) ?
{PER} repaired the {PRODUCT} of {PER} .
It was {DATE} , and {PER} (slept|sang|waited) .
(He|She) came on {DATE} with {n} books .
{DATE} was (cold|warm|wet) in {LOC} .
Dear {PER} , please come to {LOC} on {DATE} .
{PER} 's (brother|sister|mother|horse) likes {LOC} .
Has {PER} (seen|read|sold) the book about {LOC} ?
(Mr|Mrs|Dr) {PER} of {LOC} (won|lost) {n} pounds .
Ask {PER} or {PER} , not {ORG} .
{PER} ( {n} ) , {PER} ( {n} ) and {PER} ran for {LOC} .
{LOC} , {DATE} : {ORG} (closed|won|lost) again .
{PER} studied at {ORG} until {DATE} .
From {DATE} to {DATE} {PER} taught at {ORG} .
{PER} flew from {LOC} to {LOC} in {n} hours .
I took the {PRODUCT} to {LOC} and lost it .
{ORG} , {ORG} and {ORG} (want|refuse|plan) a new road to {LOC} .
Will {PER} (come|sing|write) in {DATE} ?
May {PER} (come|sing|write) on {DATE} ?
May I (ask|help|see) {PER} ?
Will you (ask|help|see) {PER} in {LOC} ?
You may (ask|help|see) {PER} , but the will is lost .
The march to {LOC} took {n} days .
Rose and {PER} sat in the garden under a rose .|Rose=PER
Grace said grace with {PER} .|Grace=PER
Mark made a mark on the wall of {ORG} .|Mark=PER
Hope left {LOC} without hope .|Hope=PER
June and April met in {DATE} .|June=PER April=PER
(We|They) hope that {PER} will (come|sing|write) in {DATE} .
The bank of the river near {LOC} was green .
The old bank , the university and the railway were closed for {n} days .
A bridge , a hill and a lake : there was nothing more to see .
(He|She|The boy|The girl) (sat|slept|waited) (in the garden|on the hill|near the lake|under the bridge) .
(He|She|Nobody) (may|will|can) (come|sing|write|wait) (with grace|in the street|for {n} hours|without hope) .
The (new|old|green|red) (street|company|light|paper) (is|was) (long|good|better|lost) .
""".strip().splitlines()


@dataclasses.dataclass(frozen=True)
class Names:
    """What a split chooses from: first names, and invented names of each type."""

    first: list[str]
    invented: dict[str, list[str]]


def make_names(rng: random.Random) -> dict[str, Names]:
    """Names for "train" and for "eval" (dev and test): half of the latter's invented names are not among the former's."""
    every = sorted({stem + ending for stem in STEMS for ending in ENDINGS})
    rng.shuffle(every)
    kinds = {name: rng.sample(list(FORMS), rng.choice([1, 1, 2])) for name in every}
    first = FIRST_NAMES[:]
    rng.shuffle(first)

    def part(names: list[str], first_names: list[str]) -> Names:
        return Names(first_names + WORD_NAMES, {kind: [n for n in names if kind in kinds[n]] for kind in FORMS})

    third = len(every) // 3
    cut = len(first) // 3
    return {"train": part(every[: 2 * third], first[: 2 * cut]), "eval": part(every[third:], first[cut:])}


def make_date(rng: random.Random, preposition: str) -> list[str]:
    """Words of a date that may follow `preposition`."""
    day, month, year = str(rng.randint(1, 28)), rng.choice(MONTHS), str(rng.randint(1900, 2025))
    short = [[month], [month, year], [year]]
    full = [[day, month], [month, day], [day, month, year], [rng.choice(DAYS)], [rng.choice(DAYS), ",", day, month]]
    return rng.choice({"in": short, "on": full}.get(preposition.lower(), short + full))


def make_name(kind: str, names: Names, rng: random.Random) -> list[str]:
    parts = []
    for part in rng.choice(FORMS[kind]).split():
        parts.append(
            rng.choice(names.first) if part == "F" else rng.choice(names.invented[kind]) if part == "N" else part
        )
    return parts


def make_sentence(template: str, names: Names, rng: random.Random) -> list[tuple[str, str]]:
    """(word, tag) of one sentence."""
    text, *fixed = re.split(r"\|(?=\w+=)", template)
    types = dict(item.split("=") for item in " ".join(fixed).split())
    text = text.replace("( ", "<").replace(" )", ">")  # brackets of the sentence itself
    while match := INNERMOST_CHOICE.search(text):
        text = text[: match.start()] + rng.choice(match[1].split("|")) + text[match.end() :]
    text = text.replace("<", "( ").replace(">", " )")
    sentence: list[tuple[str, str]] = []
    for token in text.split():
        if token == "{n}":
            sentence.append((str(rng.choice([rng.randint(2, 99), rng.randint(1900, 2025)])), "O"))
        elif token.startswith("{"):
            kind = token[1:-1]
            before = sentence[-1][0] if sentence else ""
            words = make_date(rng, before) if kind == "DATE" else make_name(kind, names, rng)
            sentence += [(word, f"{'I' if place else 'B'}-{kind}") for place, word in enumerate(words)]
        else:
            sentence.append((token, f"B-{types[token]}" if token in types else "O"))
    first, tag = sentence[0]
    return [(first[0].upper() + first[1:], tag), *sentence[1:]]


def make_split(size: int, names: Names, seen: set[str], rng: random.Random) -> str:
    """`size` sentences as the text of a file. None of them is in `seen` (lower-cased), where they are added."""
    blocks = []
    while len(blocks) < size:
        sentence = make_sentence(rng.choice(TEMPLATES), names, rng)
        key = " ".join(word for word, _ in sentence).lower()
        if key not in seen:
            seen.add(key)
            blocks.append("".join(f"{word}\t{tag}\n" for word, tag in sentence) + "\n")
    return "".join(blocks)


def make_tagging(sizes: dict[str, int], seed: int) -> dict[str, str]:
    """File name -> content. `sizes`: sentences in train, dev and test."""
    rng, seen = random.Random(seed), set()
    names = make_names(rng)
    return {
        f"{split}.txt": make_split(size, names["train" if split == "train" else "eval"], seen, rng)
        for split, size in sizes.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output_dir", default=str(HERE / "tagging"), help="directory for the three files")
    parser.add_argument("--seed", type=int, default=12345)
    parser.add_argument("--train_size", type=int, default=2000, help="sentences in train.txt")
    parser.add_argument("--dev_size", type=int, default=300, help="sentences in dev.txt")
    parser.add_argument("--test_size", type=int, default=300, help="sentences in test.txt")
    flags = parser.parse_args()
    output_dir = pathlib.Path(flags.output_dir)
    output_dir.mkdir(parents=True, exist_ok=True)
    sizes = {"train": flags.train_size, "dev": flags.dev_size, "test": flags.test_size}
    for name, content in make_tagging(sizes, flags.seed).items():
        (output_dir / name).write_text(content, encoding="utf-8", newline="\n")
    for split, size in sizes.items():
        print(f"{split}.txt {size} sentences")


if __name__ == "__main__":
    main()
