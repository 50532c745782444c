"""Token ids from transformers' fast tokenizers.

The program reads [[directory, [text, ...]], ...] and prints the ids, both as JSON. It needs a
Python with transformers, which the project does not install: see
tests/text/test_tokenizer_files_peer.py.
"""

import json
import sys

from transformers import AutoTokenizer

if __name__ == "__main__":
    ids = []
    for folder, texts in json.load(sys.stdin):
        tokenizer = AutoTokenizer.from_pretrained(folder)
        ids.append([tokenizer.encode(text, add_special_tokens=False) for text in texts])
    print(json.dumps(ids))
