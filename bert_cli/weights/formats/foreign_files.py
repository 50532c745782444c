"""Recognition of files from other programs by their contents, for messages; no file is loaded."""

import zipfile

from bert_cli.base import files

_TRUSTED = "where it is trusted, write its weights as model.safetensors, with config.json and vocab.txt next to it"
OTHER_ENDINGS = (".ckpt", ".keras", ".pkl", ".pickle", ".joblib")
# First bytes -> description with advice.
_BEGINNINGS = {
    b"\x89HDF": "is an HDF5 file of another name than Keras or transformers give; call it model.weights.h5 or tf_model.h5",
    b"\x80\x02": f"is a pickle, which could run code, and is not read; {_TRUSTED}",
    b"\x80\x03": f"is a pickle, which could run code, and is not read; {_TRUSTED}",
    b"\x80\x04": f"is a pickle, which could run code, and is not read; {_TRUSTED}",
    b"\x80\x05": f"is a pickle, which could run code, and is not read; {_TRUSTED}",
}


def describe_file(path: str) -> str:
    """Return a description of an existing file, with advice, or "" if its format is not known."""
    if not files.is_remote(path) and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
        if any(name.endswith("data.pkl") for name in names):
            return (
                f"is a checkpoint of PyTorch or Lightning, a pickle, which could run code, and is not read; {_TRUSTED}"
            )
        if {"metadata.json", "config.json"} <= set(names):
            return (
                "is a model of Keras (.keras), which is not read; save the weights of its encoder with "
                "bert_cli.keras.Encoder as .weights.h5"
            )
        return "is an archive; unpack it and give the path of its bert_model.ckpt"
    with files.open_binary(path) as file:
        start = file.read(4)
    return next((text for beginning, text in _BEGINNINGS.items() if start.startswith(beginning)), "")
