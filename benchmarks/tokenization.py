"""Speed of tokenization on one core, from text in memory to ids, with an empty cache at the start.

    python benchmarks/tokenization.py --input_file corpus.txt --vocab_file vocab.txt

prints one line: size, MB/s of UTF-8, tokens/s, and the share of [UNK]. Files that end in .gz are
unpacked first.
"""

import argparse
import gzip
import sys
import time

from bert_cli.base.errors import InputError
from bert_cli.base.files import read_bytes
from bert_cli.text.tokenization import CACHE_SIZE, FullTokenizer
from bert_cli.text.vocabulary import UNK, read_vocabulary


def read_lines(path: str, megabytes: float | None) -> list[str]:
    """Return the lines in the first `megabytes` (10^6 bytes), without bytes that are not UTF-8."""
    data = read_bytes(path)
    if path.endswith(".gz"):
        data = gzip.decompress(data)
    if megabytes is not None:
        data = data[: int(megabytes * 1e6)]
    return data.decode("utf-8", errors="ignore").split("\n")


def measure(tokenizer: FullTokenizer, lines: list[str], output: str) -> str:
    """Tokenize all lines once, and return a line with the figures.

    Args:
        tokenizer: the tokenizer to use.
        lines: the text.
        output: "ids" or "tokens".
    """
    function = tokenizer.encode if output == "ids" else tokenizer.tokenize
    unknown = tokenizer.ids[UNK] if output == "ids" else UNK
    unknown_count = 0
    token_count = 0
    seconds = 0.0
    for line in lines:
        start = time.perf_counter()
        tokens = function(line)
        seconds += time.perf_counter() - start
        token_count += len(tokens)
        unknown_count += tokens.count(unknown)
    megabytes = sum(len(line.encode("utf-8")) + 1 for line in lines) / 1e6
    unknown_share = unknown_count / max(token_count, 1)
    return (
        f"{megabytes:.2f} MB, {len(lines)} lines, {token_count} tokens in {seconds:.2f} s: "
        f"{megabytes / seconds:.2f} MB/s, {token_count / seconds:.0f} tokens/s, {unknown_share:.3%} {UNK}"
    )


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--input_file", required=True, help="text to tokenize, UTF-8, plain or .gz")
    parser.add_argument("--vocab_file", required=True, help="vocabulary, one token a line")
    parser.add_argument("--megabytes", type=float, help="use the first so many 10^6 bytes only")
    parser.add_argument("--cased", action="store_true", help="keep case and accents (do_lower_case=False)")
    parser.add_argument("--output", choices=["ids", "tokens"], default="ids", help="what to make of the text")
    parser.add_argument("--cache_size", type=int, default=CACHE_SIZE, help="chunks to remember; 0 for none")
    return parser.parse_args(arguments)


def main() -> int:
    settings = parse_arguments()
    try:
        lines = read_lines(settings.input_file, settings.megabytes)
        vocabulary = read_vocabulary(settings.vocab_file)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    tokenizer = FullTokenizer(vocabulary, do_lower_case=not settings.cased, cache_size=settings.cache_size)
    print(measure(tokenizer, lines, settings.output))
    return 0


if __name__ == "__main__":
    sys.exit(main())
