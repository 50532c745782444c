"""Print the characters that the library tokenizers removes, strips as marks, and splits as punctuation.

bert_cli/text/characters.py has these tables. It needs `pip install tokenizers`, in any environment.
"""

from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

OFF = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False}
CLEAN, STRIP = BertNormalizer(**(OFF | {"clean_text": True})), BertNormalizer(**(OFF | {"strip_accents": True}))


def ranges(codes):
    """Return hexadecimal ranges, such as `41-5a 61`."""
    bounds = []
    for code in codes:
        if bounds and bounds[-1][1] == code - 1:
            bounds[-1][1] = code
        else:
            bounds.append([code, code])
    return " ".join(f"{first:x}" if first == last else f"{first:x}-{last:x}" for first, last in bounds)


def main():
    """Print the tables."""
    codes = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    words = BertPreTokenizer().pre_tokenize_str
    tables = {
        "removed": [code for code in codes if CLEAN.normalize_str(f"a{chr(code)}b") == "ab"],
        "marks": [code for code in codes if STRIP.normalize_str(f"a{chr(code)}b") == "ab"],
        "punctuation": [code for code in codes if len(words(f"a{chr(code)}b")) == 3],
    }
    for name, found in tables.items():
        print(name, ranges(found))


if __name__ == "__main__":
    main()
