"""Write the sample data set of bert_cli: acceptable and unacceptable English sentences in CoLA's layout.

    python data/make_sample.py --output_dir=data

writes train.tsv, dev.tsv, test.tsv and test_labels.tsv, the same bytes for the same seed, and prints

    train.tsv 16000 sentences
    dev.tsv 1000 sentences
    test.tsv 1000 sentences

The language is data/grammar.txt; its first lines explain the notation. Needs nothing but Python's standard library.
"""

import argparse
import dataclasses
import pathlib
import random
import re

GRAMMAR = pathlib.Path(__file__).with_name("grammar.txt")
IRREGULAR_PLURALS = {"man": "men", "woman": "women", "child": "children"}
INNERMOST_GROUP = re.compile(r"[(<\[][^()<>\[\]]*[)>\]]")
SLOT = re.compile(r"\{([A-Z])(\d)(?:\.(\w+))?\}")


@dataclasses.dataclass(frozen=True)
class Grammar:
    classes: dict[str, list[dict]]  # class letter -> words; a word is {form: text}, "o" and "place" hold lists
    macros: dict[str, list[str]]  # "$NAME" -> alternatives
    phenomena: dict[str, tuple[int, str, list[str]]]  # code -> (weight, description, templates)


@dataclasses.dataclass(frozen=True)
class Pair:
    phenomenon: str
    acceptable: str
    unacceptable: str


def plural(noun: str) -> str:
    if noun in IRREGULAR_PLURALS:
        return IRREGULAR_PLURALS[noun]
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


def with_suffix(word: str, suffix: str) -> str:
    """Add -s, -ed, -ing, -er or -est by the spelling rules: carries, closed, sitting, tallest."""
    if suffix == "s":
        return (
            re.sub(r"([^aeiou])y$", r"\1ie", plural(word).removesuffix("s")) + "s" if word[-1] == "y" else plural(word)
        )
    if word.endswith("e"):
        return word[:-1] + suffix
    if suffix != "ing" and re.search(r"[^aeiou]y$", word):
        return word[:-1] + "i" + suffix
    if re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]", word):
        return word + word[-1] + suffix
    return word + suffix


def parse_word(kind: str, entry: str) -> dict:
    """The forms of one entry of grammar.txt, such as `write wrote written: letter, poem` of kind verbs."""
    head, _, rest = entry.partition(": ")
    if kind == "nouns":
        return {"sg": head, "pl": plural(head)}
    if kind == "adjectives":
        return {"": head, "er": with_suffix(head, "er"), "est": with_suffix(head, "est")}
    if kind == "words":
        return {"": head}
    base, past, participle = (head.split() * 3)[:3] if " " in head else (head, *[with_suffix(head, "ed")] * 2)
    forms = {"b": base, "s": with_suffix(base, "s"), "d": past, "n": participle, "g": with_suffix(base, "ing")}
    return {**forms, "with": rest.split(", ")}


def read_grammar(path: pathlib.Path) -> Grammar:
    grammar = Grammar({}, {}, {})
    templates = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        if header := re.fullmatch(r"== (\w+) (\d+): (.*)", line):
            templates = []
            grammar.phenomena[header[1]] = (int(header[2]), header[3], templates)
        elif macro := re.fullmatch(r"(\$[A-Z]+) = ?(.*)", line):
            grammar.macros[macro[1]] = [part.strip() for part in (" " + macro[2] + " ").split("/")]
        elif words := re.fullmatch(r"(verbs|nouns|words|adjectives) ([A-Z]) = (.*)", line):
            separator = "; " if words[1] == "verbs" else ", "
            entries = [parse_word(words[1], entry) for entry in words[3].split(separator)]
            grammar.classes.setdefault(words[2], []).extend(entries)
        else:
            templates.append(line)
    return grammar


def expand(template: str, grammar: Grammar, rng: random.Random) -> tuple[str, str]:
    """Replace macros and choices; return the template of the acceptable and of the unacceptable sentence."""
    chosen: dict[str, str] = {}

    def macro(match: re.Match) -> str:
        return chosen.setdefault(match[0], rng.choice(grammar.macros[match[0]]))

    while "$" in template:
        template = re.sub(r"\$[A-Z]+", macro, template)
    contrast: list[str] = []  # the alternatives of each [...]; a digit in braces stands for it in the template
    while group := INNERMOST_GROUP.search(template):
        alternatives = group[0][1:-1].split("|")
        if group[0][0] == "[":
            contrast.append(group[0][1:-1])
            replacement = f"{{{len(contrast) - 1}}}"
        elif group[0][0] == "(":
            replacement = rng.choice(alternatives) if rng.random() < 0.5 else ""
        else:
            replacement = rng.choice(alternatives)
        template = template[: group.start()] + replacement + template[group.end() :]
    (kept,) = re.findall(r"\{(\d)\}", template)  # <[a|b]|[c|d]> keeps one contrast of several
    right, *wrong = contrast[int(kept)].split("|")
    return template.replace(f"{{{kept}}}", right), template.replace(f"{{{kept}}}", rng.choice(wrong))


def fill(templates: tuple[str, str], grammar: Grammar, rng: random.Random) -> list[str]:
    """Put words into the slots of both templates, the same word for the same slot, no word twice for one class."""
    words: dict[str, dict] = {}

    def word(match: re.Match) -> str:
        slot, letter = match[1] + match[2], match[1]
        if slot not in words:
            taken = [entry[next(iter(entry))] for name, entry in words.items() if name[0] == letter]
            entries = [entry for entry in grammar.classes[letter] if entry[next(iter(entry))] not in taken]
            entry = entries[int(len(entries) * rng.random() ** 2)]  # the words named first are more frequent
            companion = rng.choice(entry.get("with", [""]))
            preposition, _, place = companion.partition(" ")
            words[slot] = {**entry, "o": companion, "os": plural(companion), "p": preposition, "l": place}
        return words[slot][match[3] or ""]

    return [SLOT.sub(word, template) for template in templates]


def finish(text: str) -> str:
    """Spaces, the article's form, capital letter and full stop."""
    text = re.sub(r"\s+([,?])", r"\1", " ".join(text.split()))
    text = re.sub(r"\b(?<!~)a (?=[aeiou])", "an ", text)
    text = re.sub(r"~a (?=[aeiou])", "a ", text)
    text = re.sub(r"~a (?=[^aeiou])", "an ", text)
    return text[0].upper() + text[1:] + ("" if text.endswith("?") else ".")


def make_pairs(grammar: Grammar, phenomenon: str, count: int, seen: set[str], rng: random.Random) -> list[Pair]:
    """`count` minimal pairs, no sentence of which is in `seen` (lower-cased), where they are added."""
    pairs = []
    templates = grammar.phenomena[phenomenon][2]
    for _ in range(100 * count):
        if len(pairs) == count:
            return pairs
        right, wrong = (finish(text) for text in fill(expand(rng.choice(templates), grammar, rng), grammar, rng))
        if right == wrong:
            raise ValueError(f"{phenomenon}: no difference between the two sentences of a pair: {right}")
        if seen.isdisjoint({right.lower(), wrong.lower()}):
            seen.update({right.lower(), wrong.lower()})
            pairs.append(Pair(phenomenon, right, wrong))
    raise ValueError(
        f"{phenomenon}: its templates have fewer than {count} different pairs left; ask for fewer sentences"
    )


def make_split(grammar: Grammar, size: int, seen: set[str], rng: random.Random) -> list[tuple[str, int, str]]:
    """`size` rows (phenomenon, label, sentence), half of each label, in random order; one sentence of every pair."""
    weights = {code: weight for code, (weight, _, _) in grammar.phenomena.items()}
    rows, done, total = [], 0, 0
    for code, weight in weights.items():
        total += weight
        count = size * total // sum(weights.values()) - done  # shares that add up to `size`
        done += count
        for number, pair in enumerate(make_pairs(grammar, code, count, seen, rng)):
            label = (number + done) % 2
            rows.append((code, label, pair.acceptable if label else pair.unacceptable))
    rng.shuffle(rows)
    return rows


def make_sample(sizes: dict[str, int], seed: int) -> dict[str, str]:
    """File name -> content. `sizes`: sentences in train, dev and test."""
    grammar, rng, seen = read_grammar(GRAMMAR), random.Random(seed), set()
    files = {}
    for split, size in sizes.items():
        rows = make_split(grammar, size, seen, rng)
        if split == "test":
            files["test.tsv"] = "index\tsentence\n" + "".join(f"{i}\t{row[2]}\n" for i, row in enumerate(rows))
            labels = "".join(f"{i}\t{label}\t{code}\n" for i, (code, label, _) in enumerate(rows))
            files["test_labels.tsv"] = "index\tlabel\tphenomenon\n" + labels
        else:
            lines = [f"{code}\t{label}\t{'' if label else '*'}\t{text}\n" for code, label, text in rows]
            files[f"{split}.tsv"] = "".join(lines)
    return files


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output_dir", default=str(GRAMMAR.parent), help="directory for the four files")
    parser.add_argument("--seed", type=int, default=12345)
    parser.add_argument("--train_size", type=int, default=16000, help="sentences in train.tsv")
    parser.add_argument("--dev_size", type=int, default=1000, help="sentences in dev.tsv")
    parser.add_argument("--test_size", type=int, default=1000, help="sentences in test.tsv")
    flags = parser.parse_args()
    output_dir = pathlib.Path(flags.output_dir)
    output_dir.mkdir(parents=True, exist_ok=True)
    sizes = {"train": flags.train_size, "dev": flags.dev_size, "test": flags.test_size}
    for name, content in make_sample(sizes, flags.seed).items():
        (output_dir / name).write_text(content, encoding="utf-8", newline="\n")
    for split, size in sizes.items():
        print(f"{split}.tsv {size} sentences")


if __name__ == "__main__":
    main()
