"""Write the similarity sample of bert_cli: pairs of sentences that mean the same, and pairs with a score.

    python data/make_similarity.py --output_dir=data/similarity

writes the same bytes for the same seed, and prints

    train.tsv 2000 rows
    dev.tsv 300 rows
    scored_train.tsv 2000 rows
    scored_dev.tsv 500 rows

A sentence is about a scene: who, what happened to what, where and when. Each of these five parts is said in several
ways. Both sentences of a pair in train.tsv and dev.tsv (anchor, positive) are about the same scene. In the scored files
(sentence1, sentence2, score) the second sentence is about a scene in which some parts have changed; the score is the
number of equal parts, 0 to 5. No scene of a dev file is in the training file next to it. Needs nothing but Python's
standard library.
"""

import argparse
import pathlib
import random

HERE = pathlib.Path(__file__).parent
# Each line is one meaning, and its ways to say it.
WHO = """
the doctor|the physician
the teacher|the woman who teaches
the boy|the lad|the young man
the girl|the young lady
the farmer|the man from the farm
the baker|the man who bakes bread
the soldier|the man of the army
the queen|her majesty
the captain|the head of the ship
the driver|the man at the wheel
my mother|my mum
my father|my dad
the thief|the robber
the old man|the aged man
the child|the kid
the writer|the author
"""
# Past and participle.
WHAT = """
bought,bought|purchased,purchased
sold,sold|got rid of,disposed of
found,found|discovered,discovered
lost,lost|could not find,mislaid
broke,broken|destroyed,destroyed
cleaned,cleaned|washed,washed
painted,painted|put paint on,covered with paint
hid,hidden|concealed,concealed
repaired,repaired|fixed,fixed|mended,mended
carried,carried|brought,brought
watched,watched|looked at,looked at
stole,stolen|took away,taken away
"""
THING = """
the car|the automobile
the bicycle|the bike
the letter|the written message
the house|the home
the picture|the painting
the ring|the jewel
the boat|the small ship
the coat|the jacket
the clock|the watch
the bag|the sack
the stone|the rock
the present|the gift
the lamp|the light
the coin|the piece of money
"""
WHERE = """
in the garden|among the flowers
in the street|on the road
at the station|where the trains stop
in the forest|among the trees
at school|in the classroom
in the kitchen|where the meals are cooked
near the river|by the water
in the church|in the house of god
on the hill|at the top of the hill
in the city|in town
"""
WHEN = """
in the morning|early in the day
in the evening|late in the day
yesterday|the day before today
last year|a year ago
in winter|when it was cold
in summer|when it was warm
on Sunday|at the end of the week
at night|in the dark
"""
PARTS = [[line.split("|") for line in part.strip().splitlines()] for part in (WHO, WHAT, THING, WHERE, WHEN)]
FORMS = (
    "{who} {past} {thing} {where} {when} .",
    "{when} {who} {past} {thing} {where} .",
    "{thing} was {participle} by {who} {where} {when} .",
    "{when} , {thing} was {participle} {where} by {who} .",
    "it was {who} who {past} {thing} {where} {when} .",
    "{where} , {who} {past} {thing} {when} .",
)
Scene = tuple[int, ...]


def make_scene(rng: random.Random) -> Scene:
    return tuple(rng.randrange(len(part)) for part in PARTS)


def write_sentence(scene: Scene, form: str, rng: random.Random) -> str:
    who, what, thing, where, when = (rng.choice(part[meaning]) for part, meaning in zip(PARTS, scene, strict=True))
    past, participle = what.split(",")
    text = form.format(who=who, past=past, participle=participle, thing=thing, where=where, when=when)
    return text[0].upper() + text[1:]


def make_pair(scene: Scene, other: Scene, rng: random.Random) -> tuple[str, str]:
    first, second = rng.sample(FORMS, 2)
    return write_sentence(scene, first, rng), write_sentence(other, second, rng)


def change(scene: Scene, count: int, rng: random.Random) -> Scene:
    """The scene with `count` other parts."""
    changed = list(scene)
    for number in rng.sample(range(len(PARTS)), count):
        changed[number] = rng.choice([meaning for meaning in range(len(PARTS[number])) if meaning != scene[number]])
    return tuple(changed)


def make_files(sizes: dict[str, int], seed: int) -> dict[str, str]:
    """File name -> content. `sizes`: its rows."""
    rng = random.Random(seed)
    seen: dict[bool, set[Scene]] = {False: set(), True: set()}
    contents = {}
    for name, size in sizes.items():
        is_scored = name.startswith("scored")
        lines = ["sentence1\tsentence2\tscore" if is_scored else "anchor\tpositive"]
        while len(lines) <= size:
            scene = make_scene(rng)
            if scene in seen[is_scored]:
                continue
            seen[is_scored].add(scene)
            count = rng.randint(0, len(PARTS)) if is_scored else 0
            pair = make_pair(scene, change(scene, count, rng), rng)
            lines.append("\t".join([*pair, *([str(len(PARTS) - count)] if is_scored else [])]))
        contents[name] = "".join(f"{line}\n" for line in lines)
    return contents


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output_dir", default=str(HERE / "similarity"), help="directory for the four files")
    parser.add_argument("--seed", type=int, default=12345)
    flags = parser.parse_args()
    output_dir = pathlib.Path(flags.output_dir)
    output_dir.mkdir(parents=True, exist_ok=True)
    sizes = {"train.tsv": 2000, "dev.tsv": 300, "scored_train.tsv": 2000, "scored_dev.tsv": 500}
    for name, content in make_files(sizes, flags.seed).items():
        (output_dir / name).write_text(content, encoding="utf-8", newline="\n")
        print(f"{name} {sizes[name]} rows")


if __name__ == "__main__":
    main()
