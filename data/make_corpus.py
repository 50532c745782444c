"""Write the corpus for pre-training: short everyday stories, one sentence a line, a blank line between stories.

    python data/make_corpus.py --output_dir=data/pretraining

writes corpus.txt, the same bytes for the same seed, and prints

    corpus.txt 2000 documents, 20356 sentences

The words and plots are data/corpus_grammar.txt; its first lines explain the notation. Within a story the names, things and
their parts stay the same, so that a masked word can be told from the others, and the next sentence from one of elsewhere.
Needs nothing but Python's standard library.
"""

import argparse
import dataclasses
import pathlib
import random
import re

GRAMMAR = pathlib.Path(__file__).with_name("corpus_grammar.txt")
LEAST_SENTENCES = 5
MOST_SENTENCES = 12
OPTIONAL_SHARE = 0.4  # how many of the sentences that may be left out are kept
SLOT = re.compile(r"\{([a-z])(?:\.([a-z]+))?\}")
CHOICE = re.compile(r"<([^<>]*)>")


@dataclasses.dataclass(frozen=True)
class Grammar:
    slots: dict[
        str, list[dict[str, list[str]]]
    ]  # slot letter -> words; a word is {part: alternatives}, itself under ""
    kinds: dict[str, str]  # slot letter -> kind; no two slots of a kind hold the same word in a story
    macros: dict[str, str]  # "$NAME" -> sentences with " / " between
    stories: list[list[str]]  # plots, each a list of lines


def parse_parts(texts: list[str]) -> dict[str, list[str]]:
    """["at: bakery", "makes: bread, cake"] -> the alternatives of each part."""
    return {part: text.split(", ") for part, text in (entry.split(": ", 1) for entry in texts)}


def parse_words(line: str, common: dict[str, list[str]]) -> list[dict[str, list[str]]]:
    """The words of a line; `common` parts hold for each of them."""
    names, *parts = line.split(" | ")
    return [{"": [name], **common, **parse_parts(parts)} for name in names.split(", ")]


def read_grammar(path: pathlib.Path) -> Grammar:
    grammar = Grammar({}, {}, {}, [])
    letters, common = [], {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        if line.startswith("== "):
            header, *parts = line.removeprefix("== ").split(" | ")
            kind, *letters = header.split()
            common = parse_parts(parts)
            if kind == "story":
                letters = []
                grammar.stories.append([])
            grammar.kinds.update(dict.fromkeys(letters, kind))
        elif line.startswith("$") and " = " in line:
            name, _, sentences = line.partition(" = ")
            grammar.macros[name] = sentences
        elif letters:
            for letter in letters:
                grammar.slots.setdefault(letter, []).extend(parse_words(line, common))
        else:
            grammar.stories[-1].append(line)
    return grammar


class Story:
    """The words of one story: each slot, and each part of its word, is chosen once."""

    def __init__(self, grammar: Grammar, rng: random.Random):
        self.grammar = grammar
        self.rng = rng
        self.words: dict[str, dict[str, list[str]]] = {}
        self.parts: dict[tuple[str, str], str] = {}

    def word(self, slot: re.Match) -> str:
        letter, part = slot[1], slot[2] or ""
        if letter not in self.words:
            kinds = self.grammar.kinds
            taken = [word[""] for other, word in self.words.items() if kinds[other] == kinds[letter]]
            free = [word for word in self.grammar.slots[letter] if word[""] not in taken]
            self.words[letter] = self.rng.choice(free)
        if (letter, part) not in self.parts:
            self.parts[letter, part] = self.rng.choice(self.words[letter][part])
        return self.parts[letter, part]

    def sentence(self, line: str) -> str:
        """One sentence of a line of a plot."""
        template = self.rng.choice(line.split(" / "))
        while template.startswith("$"):
            template = self.rng.choice(self.grammar.macros[template].split(" / "))
        template = CHOICE.sub(lambda choice: self.rng.choice(choice[1].split("|")), template)
        return finish(SLOT.sub(self.word, template))


def finish(text: str) -> str:
    """The article's form, capital letter and full stop."""
    text = re.sub(r"\b([Aa]) (?=[aeiou])", r"\1n ", text)
    first = 1 if text.startswith('"') else 0
    text = text[:first] + text[first].upper() + text[first + 1 :]
    return f'{text[:-1]}."' if text.endswith('"') else f"{text}."


def make_story(grammar: Grammar, rng: random.Random) -> list[str]:
    """Its sentences: between LEAST_SENTENCES and MOST_SENTENCES of them."""
    plot = rng.choice(grammar.stories)
    optional = [number for number, line in enumerate(plot) if line.startswith("? ")]
    kept = [number for number in optional if rng.random() < OPTIONAL_SHARE]
    needed = len(plot) - len(optional)
    if not LEAST_SENTENCES <= needed <= MOST_SENTENCES:
        raise ValueError(f"a plot has {needed} sentences that cannot be left out: {plot[0]}")
    kept = set(rng.sample(kept, min(len(kept), MOST_SENTENCES - needed)))
    story = Story(grammar, rng)
    lines = (line for number, line in enumerate(plot) if number in kept or not line.startswith("? "))
    return [story.sentence(line.removeprefix("? ")) for line in lines]


def make_corpus(num_documents: int, seed: int) -> str:
    """The content of corpus.txt."""
    grammar, rng = read_grammar(GRAMMAR), random.Random(seed)
    stories = ["".join(f"{sentence}\n" for sentence in make_story(grammar, rng)) for _ in range(num_documents)]
    return "\n".join(stories)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output_dir", default=str(GRAMMAR.parent / "pretraining"), help="directory for corpus.txt")
    parser.add_argument("--seed", type=int, default=12345)
    parser.add_argument("--num_documents", type=int, default=2000, help="stories in corpus.txt")
    flags = parser.parse_args()
    output_dir = pathlib.Path(flags.output_dir)
    output_dir.mkdir(parents=True, exist_ok=True)
    corpus = make_corpus(flags.num_documents, flags.seed)
    (output_dir / "corpus.txt").write_text(corpus, encoding="utf-8", newline="\n")
    num_sentences = sum(map(bool, corpus.split("\n")))
    print(f"corpus.txt {flags.num_documents} documents, {num_sentences} sentences")


if __name__ == "__main__":
    main()
