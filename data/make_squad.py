"""Write the question sample of bert_cli: little stories, and questions whose answers stand in them, as SQuAD files.

    python data/make_squad.py --output_dir=data/squad

writes train.json, dev.json (layout of SQuAD 1.1; dev.json has all right answers to a question) and dev-v2.json (layout of
SQuAD 2.0: every third question has no answer), the same bytes for the same seed, and prints

    train.json 500 stories, 2000 questions
    dev.json 75 stories, 300 questions
    dev-v2.json 75 stories, 300 questions, 100 without answer

Needs nothing but Python's standard library. In the templates below {P} is a person, {did} and {do} what the person did,
{O} a thing ("a silver key"), {the O} the same thing known ("the silver key"), {L} a place, {T} a time, {J} a trade; <a|b>
is a choice.
"""

import argparse
import dataclasses
import json
import pathlib
import random
import re

HERE = pathlib.Path(__file__).parent
QUESTIONS_OF_A_STORY = 4
STORIES_OF_AN_ARTICLE = 25
CHOICE = re.compile(r"<([^<>]*)>")


def listed(text: str) -> list[str]:
    return [entry.strip() for entry in text.split(",")]


WOMEN = listed("Anna, Maria, Lucy, Emma, Sarah, Mary, Rose, Grace, Olive")
MEN = listed("Tom, Peter, David, Paul, John, Henry, Frank, Bill, Mark")
VERBS = [pair.split("/") for pair in listed("""
find/found, lose/lost, buy/bought, sell/sold, hide/hid, see/saw, forget/forgot, leave/left, break/broke, drop/dropped,
steal/stole, burn/burned, wash/washed, push/pushed, catch/caught, draw/drew""")]  # fmt: skip
THINGS = listed("""
key, ring, letter, book, hat, coat, watch, lamp, knife, picture, chair, table, bottle, box, coin, ball, rope, cup, mirror,
basket, horse, dog, cat, bird, flower, clock, bag, boat""")  # fmt: skip
QUALITIES = listed("silver, golden, small, large, old, new, red, blue, green, white, black, heavy, broken, strange")
PLACES = listed("""
in the garden, in the kitchen, in the church, in the forest, in the library, in the park, in the hall, in the cellar,
at the station, at the market, at the hotel, at the school, near the river, near the bridge, near the castle,
behind the house, behind the wall, behind the mill, on the hill, on the island, on the road, under the tree""")  # fmt: skip
TIMES = listed("""
on Monday, on Friday, on Sunday, in March, in May, in July, in winter, in spring, in summer, in the morning,
in the evening, in the afternoon, at noon, at night, at midnight, after dinner, before breakfast,
after the storm""")  # fmt: skip
TRADES = listed("doctor, teacher, painter, farmer, tailor, cook, sailor, judge, singer, soldier, baker, writer")

EVENTS = """
{P} {did} {O} {L} {T}.
{T} {P} {did} {O} {L}.
{T}, {P} {did} {O} {L}.
{L} {P} {did} {O} {T}.
It was {P} who {did} {O} {L} {T}.
{P} was {L} {T} and {did} {O}.
{T} {P} went out and {did} {O} {L}.
""".strip().splitlines()
TRADE_LINES = ["{P} was a {J}.", "{P} worked as a {J}.", "Everybody knew {P}, a {J}."]
FILLERS = """
It was <cold|warm|dark|quiet>.
Nobody <said a word|knew why>.
<Many|Few> people were there.
The <wind|rain|sun> was strong.
That was <all|a surprise|not easy>.
""".strip().splitlines()

# kind of answer -> questions; an answer's first form is that of train.json, dev.json has them all.
QUESTIONS = {
    "P": ["Who {did} {the O}?", "Who {did} {O} {L}?", "Who was it that {did} {O}?"],
    "O": ["What did {P} {do}?", "What did {P} {do} {L}?", "What did {P} {do} {T}?"],
    "L": ["Where did {P} {do} {the O}?", "Where was it that {P} {did} {O}?"],
    "T": ["When did {P} {do} {the O}?", "When was it that {P} {did} {O}?"],
}
TRADE_QUESTIONS = {"P": ["Who was a {J}?", "Who worked as a {J}?"], "J": ["What was {P}?", "What did {P} work as?"]}


@dataclasses.dataclass(frozen=True)
class Line:
    """A sentence of a story: its words by slot, and where in the sentence those that can be an answer stand."""

    text: str
    words: dict[str, str]
    places: dict[str, int]


def fill(template: str, words: dict[str, str], rng: random.Random) -> Line:
    template = CHOICE.sub(lambda choice: rng.choice(choice[1].split("|")), template)
    text, places = "", {}
    for part in re.split(r"(\{[^}]*\})", template):
        slot = part[1:-1] if part.startswith("{") else None
        if slot:
            places[slot] = len(text)
        text += words[slot] if slot else part
    return Line(text[0].upper() + text[1:], words, places)


def with_article(words: str) -> str:
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


class Story:
    """Its events share no person, thing, place or time: each question has one answer."""

    def __init__(self, rng: random.Random):
        count = rng.choice([1, 1, 1, 2, 2])
        self.rng = rng
        people = rng.sample(WOMEN + MEN, count + 1)
        self.absent = people.pop()
        things, places, times = (rng.sample(words, count) for words in (THINGS, PLACES, TIMES))
        verbs = rng.sample(VERBS, count)
        if count > 1 and rng.random() < 0.4:
            verbs[1] = verbs[0]  # then the verb does not tell whom a question is about
        self.events = []
        for person, thing, place, time, (do, did) in zip(people, things, places, times, verbs, strict=True):
            thing = f"{rng.choice(QUALITIES)} {thing}"
            words = {"P": person, "O": with_article(thing), "the O": f"the {thing}", "L": place, "T": time}
            self.events.append(fill(rng.choice(EVENTS), words | {"do": do, "did": did}, rng))
        self.trade = None
        if rng.random() < 0.5:
            words = {"P": rng.choice(people), "J": rng.choice(TRADES)}
            self.trade = fill(rng.choice(TRADE_LINES), words, rng)
        lines = list(self.events)
        if rng.random() < 0.5:
            lines.insert(rng.randint(1, len(lines)), fill(rng.choice(FILLERS), {}, rng))
        self.lines = [self.trade, *lines] if self.trade else lines
        self.context = " ".join(line.text for line in self.lines)

    def answers(self, line: Line, slot: str) -> list[dict]:
        """The right answers as SQuAD has them: the words of a slot, and for all but people also without the first one."""
        start = sum(len(before.text) + 1 for before in self.lines[: self.lines.index(line)]) + line.places[slot]
        text = self.context[start : start + len(line.words[slot])]
        found = [{"answer_start": start, "text": text}]
        if slot in "OLT":
            shorter = text.partition(" ")[2]
            found.append({"answer_start": start + len(text) - len(shorter), "text": shorter})
        return found

    def question(self) -> tuple[str, list[dict]]:
        line = self.rng.choice([*self.events, self.trade] if self.trade else self.events)
        kinds = TRADE_QUESTIONS if line is self.trade else QUESTIONS
        slot = self.rng.choice(list(kinds))
        return fill(self.rng.choice(kinds[slot]), line.words, self.rng).text, self.answers(line, slot)

    def impossible_question(self) -> str:
        """A question about somebody who is not in the story, or about what a person of the story did not do."""
        event = self.rng.choice(self.events)
        if self.rng.random() < 0.5:
            words = event.words | {"P": self.absent}
        else:
            done = {other.words["do"] for other in self.events}
            do, did = self.rng.choice([verb for verb in VERBS if verb[0] not in done])
            words = event.words | {"do": do, "did": did}
        return fill(self.rng.choice(["What did {P} {do}?", "Where did {P} {do} {the O}?"]), words, self.rng).text


def make_paragraph(name: str, rng: random.Random, all_answers: bool, impossible: set[int]) -> dict:
    """A story with its questions; those whose numbers are in `impossible` have no answer."""
    story, qas, asked = Story(rng), [], set()
    while len(qas) < QUESTIONS_OF_A_STORY:
        lacking = len(qas) in impossible
        question, answers = (story.impossible_question(), []) if lacking else story.question()
        if question in asked:
            continue
        asked.add(question)
        qas.append(
            {"id": f"{name}-{len(qas)}", "question": question, "answers": answers if all_answers else answers[:1]}
        )
    return {"context": story.context, "qas": qas}


def make_file(name: str, questions: int, rng: random.Random, seen: set[str]) -> dict:
    """A SQuAD file of stories that are not in `seen`, where they are added."""
    is_version_2, paragraphs = name.endswith("-v2"), []
    while len(paragraphs) < questions // QUESTIONS_OF_A_STORY:
        first = len(paragraphs) * QUESTIONS_OF_A_STORY
        impossible = {k for k in range(QUESTIONS_OF_A_STORY) if is_version_2 and (first + k) % 3 == 2}
        paragraph = make_paragraph(f"{name}-{len(paragraphs)}", rng, name != "train", impossible)
        if paragraph["context"] in seen:
            continue
        seen.add(paragraph["context"])
        for number, question in enumerate(paragraph["qas"] if is_version_2 else []):
            question["is_impossible"] = number in impossible
        paragraphs.append(paragraph)
    articles = range(0, len(paragraphs), STORIES_OF_AN_ARTICLE)
    return {
        "version": "v2.0" if is_version_2 else "1.1",
        "data": [
            {"title": f"Stories {number}", "paragraphs": paragraphs[start : start + STORIES_OF_AN_ARTICLE]}
            for number, start in enumerate(articles, start=1)
        ],
    }


def make_squad(sizes: dict[str, int], seed: int) -> dict[str, str]:
    """File name -> content. `sizes`: questions in train, dev and dev-v2, multiples of 4."""
    rng, seen = random.Random(seed), set()
    return {
        f"{name}.json": json.dumps(make_file(name, size, rng, seen), indent=1) + "\n" for name, size in sizes.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output_dir", default=str(HERE / "squad"), help="directory for the three files")
    parser.add_argument("--seed", type=int, default=12345)
    parser.add_argument("--train_size", type=int, default=2000, help="questions in train.json")
    parser.add_argument("--dev_size", type=int, default=300, help="questions in dev.json, and in dev-v2.json")
    flags = parser.parse_args()
    output_dir = pathlib.Path(flags.output_dir)
    output_dir.mkdir(parents=True, exist_ok=True)
    sizes = {"train": flags.train_size, "dev": flags.dev_size, "dev-v2": flags.dev_size}
    for name, content in make_squad(sizes, flags.seed).items():
        (output_dir / name).write_text(content, encoding="utf-8", newline="\n")
        qas = [qa for part in json.loads(content)["data"] for story in part["paragraphs"] for qa in story["qas"]]
        lacking = sum(not qa["answers"] for qa in qas)
        stories = len(qas) // QUESTIONS_OF_A_STORY
        print(f"{name} {stories} stories, {len(qas)} questions" + (f", {lacking} without answer" if lacking else ""))


if __name__ == "__main__":
    main()
