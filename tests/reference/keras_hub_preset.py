"""Write a preset of KerasHub with random weights, and what its encoder gives.

Run with a Python that has keras-hub: `python tests/reference/keras_hub_preset.py`.
"""

import json
import os
import pathlib

os.environ["KERAS_BACKEND"] = "jax"

import keras_hub
import numpy as np

FOLDER = pathlib.Path(__file__).parents[1] / "fixtures" / "keras_hub"
SENTENCE = "the a dog cat house old young . , sat on mat ##s é"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *SENTENCE.split()]
TEXT = "The dogs sat on É , mat ."


def main() -> None:
    """Write the preset of a text classifier, and expected.json with the encoder's outputs."""
    tokenizer = keras_hub.models.BertTokenizer(vocabulary=WORDS, lowercase=True)
    backbone = keras_hub.models.BertBackbone(
        vocabulary_size=len(WORDS), num_layers=1, num_heads=2, hidden_dim=8, intermediate_dim=12, max_sequence_length=16
    )
    random = np.random.default_rng(0)
    for weight in backbone.weights:
        weight.assign(random.normal(0, 0.5, weight.shape) + ("gamma" in weight.path))
    preprocessor = keras_hub.models.BertTextClassifierPreprocessor(tokenizer, sequence_length=16)
    classifier = keras_hub.models.BertTextClassifier(backbone=backbone, num_classes=2, preprocessor=preprocessor)
    classifier.save_to_preset(str(FOLDER))
    pieces = np.asarray(tokenizer(TEXT)).tolist()
    ids = np.array([[tokenizer.token_to_id("[CLS]"), *pieces, tokenizer.token_to_id("[SEP]")]])
    outputs = backbone.predict({"token_ids": ids, "segment_ids": ids * 0, "padding_mask": ids * 0 + 1}, verbose=0)
    expected = {
        "text": TEXT,
        "ids": ids[0].tolist(),
        "pooled_output": outputs["pooled_output"][0].tolist(),
        "sequence_output": outputs["sequence_output"][0].tolist(),
    }
    (FOLDER / "expected.json").write_text(json.dumps(expected) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
