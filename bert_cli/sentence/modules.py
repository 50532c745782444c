"""Reader for a directory of sentence-transformers: its modules, prompts and length."""

import dataclasses
import os
from collections.abc import Mapping

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.json_files import (
    FETCH,
    JsonObject,
    expect,
    expect_member,
    read_json,
    read_json_object,
)
from bert_cli.base.names import MODULES, SENTENCE_BERT, SENTENCE_CONFIG, TOKENIZER_CONFIG
from bert_cli.base.pooling import CLS, LAST, MAX, MEAN, MEAN_SQRT_LEN, WEIGHTED_MEAN, modes_of
from bert_cli.sentence.keys import ENCODER_KEYS, FOREIGN, LEGACY_MODES, MODULE_KEYS, POOLING_KEYS, SENTENCE_KEYS
from bert_cli.sentence.step_files import STEP_READERS, read_optional
from bert_cli.sentence.steps import Dense, LayerNorm, Step, Truncate, final_width
from bert_cli.weights.formats.folder_layouts import inner_folder

_PACKAGE = "sentence_transformers."
MODE_NAMES = {
    "cls": CLS,
    "max": MAX,
    "mean": MEAN,
    "mean_sqrt_len_tokens": MEAN_SQRT_LEN,
    "weightedmean": WEIGHTED_MEAN,
    "lasttoken": LAST,
}


@dataclasses.dataclass(frozen=True, eq=False)
class SentenceModules:
    """The modules after an encoder, and the texts and lengths before it.

    Attributes:
        source: path of modules.json, for messages.
        encoder_width: length of an encoder's vector.
        pooling: value of --pooling.
        steps: modules after pooling, in their order.
        includes_prompt: whether pooling uses a prompt's tokens, too.
        prompts: texts to put before each text, by name.
        default_prompt_name: the prompt for texts without one, or None.
        max_seq_length: maximum number of tokens in a text; None to use all positions.
        lower_cases: whether texts are lower-cased before the tokenizer reads them.
    """

    source: str
    encoder_width: int
    pooling: str
    steps: tuple[Step, ...] = ()
    includes_prompt: bool = True
    prompts: Mapping[str, str] = dataclasses.field(default_factory=dict)
    default_prompt_name: str | None = None
    max_seq_length: int | None = None
    lower_cases: bool = False

    def describe(self) -> str:
        """Return the modules for the log."""
        steps = [f"pooling {self.pooling}", *map(str, self.steps)]
        if self.default_prompt_name:
            steps.append(f"the prompt {self.default_prompt_name!r} before each text")
        return ", ".join(steps)


def modules_file(folder: str) -> str | None:
    """Return the modules.json for an encoder's directory, or None.

    In older layouts, the encoder is in a subdirectory such as 0_Transformer.
    """
    path = os.path.join(folder, MODULES)
    if files.exists(path):
        return path
    folder = files.make_absolute(folder)
    root = os.path.dirname(folder)
    path = os.path.join(root, MODULES)
    return path if files.exists(path) and inner_folder(root) == folder else None


def module_paths(folder: str) -> dict[str, str]:
    """Return all files in the modules' directories below `folder`: relative name -> path."""
    path = os.path.join(folder, MODULES)
    if not files.exists(path):
        return {}
    names = [name for _, name in _listed_modules(path) if name]
    return {
        f"{name}/{file}": os.path.join(folder, name, file)
        for name in names
        for file in files.list_directory(os.path.join(folder, name))
    }


def read_modules(folder: str, strict: bool = False) -> SentenceModules | None:
    """Return the modules in a model's directory; None if sentence-transformers has not written it.

    Args:
        folder: the encoder's directory.
        strict: whether an unknown key is an error.

    Raises:
        InputError: if a file is damaged, or a module cannot be computed.
    """
    path = modules_file(folder)
    if path is None:
        return None
    root = os.path.dirname(path)
    listed = _listed_modules(path, strict)
    types = [module_type for module_type, _ in listed]
    refuse_if(types[0] != "Transformer", f"{path}: begins with the module {types[0]}, not a Transformer; {FOREIGN}")
    refuse_if(types[1:2] != ["Pooling"], f"{path}: lists no Pooling after the Transformer; {FOREIGN}")
    config_path = os.path.join(folder, SENTENCE_BERT)
    config = read_optional(config_path)
    ENCODER_KEYS.check(config_path, config)
    ENCODER_KEYS.name_unknown(config_path, config, strict)
    pooling, includes_prompt, width = _read_pooling(os.path.join(root, listed[1][1], "config.json"), strict)
    vector_path = os.path.join(root, SENTENCE_CONFIG)
    vector_config = read_optional(vector_path)
    prompts, default_name = _read_prompts(vector_config, vector_path, strict)
    steps = _read_steps(path, listed[2:], width * len(modes_of(pooling)), strict)
    if (size := vector_config.get("truncate_dim")) is not None:
        steps += (Truncate(expect(size, int, f"{vector_path}: truncate_dim", FETCH)),)
    return SentenceModules(
        path,
        width,
        pooling,
        steps,
        includes_prompt,
        prompts,
        default_name,
        _read_length(config, folder),
        expect(config.get("do_lower_case", False), bool, f"{config_path}: do_lower_case", FETCH),
    )


def _read_steps(path: str, listed: list[tuple[str, str]], width: int, strict: bool) -> tuple[Step, ...]:
    """Return the steps after pooling; raise InputError if one of them does not fit the step before.

    Args:
        path: path of modules.json.
        listed: class name and subdirectory per module.
        width: a pooled vector's length.
        strict: see read_modules.
    """
    steps: tuple[Step, ...] = ()
    for module_type, name in listed:
        # Training alone uses dropout.
        if module_type == "Dropout":
            continue
        if module_type not in STEP_READERS:
            raise InputError(f"{path}: lists the module {module_type} ({name}); {FOREIGN}")
        folder = os.path.join(os.path.dirname(path), name)
        step = STEP_READERS[module_type](folder, strict)
        before = final_width(steps, width)
        refuse_if(
            isinstance(step, Dense | LayerNorm) and step.input_width != before,
            f"{folder}: takes vectors of another length than the {before} numbers that come before; "
            "they belong to different models",
        )
        steps += (step,)
    return steps


def _read_length(config: JsonObject, folder: str) -> int | None:
    """Return the maximum number of tokens, or None if no file has it."""
    path, length = os.path.join(folder, SENTENCE_BERT), config.get("max_seq_length")
    if length is not None:
        refuse_if(expect(length, int, f"{path}: max_seq_length", FETCH) < 3, f"{path}: max_seq_length is {length}")
        return int(str(length))
    tokenizer_config = read_optional(os.path.join(folder, TOKENIZER_CONFIG))
    length = tokenizer_config.get("model_max_length", tokenizer_config.get("max_len"))
    # transformers writes a number above any length if a tokenizer has no limit.
    return int(length) if isinstance(length, int | float) and 2 < length < 2**31 else None


def _listed_modules(path: str, strict: bool = False) -> list[tuple[str, str]]:
    """Return (class name, subdirectory) per module; refuse classes from other programs."""
    modules = expect(read_json(path, FETCH), list, path, FETCH)
    listed = []
    for number, module in enumerate(modules):
        place = f"{path}: [{number}]"
        type_name = expect_member(module, "type", str, place, FETCH)
        name = expect_member(module, "path", str, place, FETCH)
        MODULE_KEYS.check(place, module)
        MODULE_KEYS.name_unknown(place, module, strict)
        refuse_if(
            not type_name.startswith(_PACKAGE),
            f"{path}: lists {type_name}, code that is not part of sentence-transformers and is not run; {FOREIGN}",
        )
        # A path may be untrusted: it must not leave the directory.
        refuse_if(os.path.isabs(name) or ".." in name.split("/"), f"{place}: the path {name!r} leaves its directory")
        listed.append((type_name.rpartition(".")[2], name.rstrip("/")))
    refuse_if(not listed, f"{path}: lists no module; {FETCH}")
    return listed


def _read_pooling(path: str, strict: bool) -> tuple[str, bool, int]:
    """Return the pooling, whether it includes the prompt, and the encoder's width."""
    config = read_json_object(path, FETCH)
    POOLING_KEYS.name_unknown(path, config, strict)
    mode = config.get("pooling_mode")
    if mode is None:
        modes = [name for key, name in LEGACY_MODES.items() if config.get(key)] or [MEAN]
    else:
        names = [mode] if isinstance(mode, str) else expect(mode, list, f"{path}: pooling_mode", FETCH)
        unknown = next((name for name in names if name not in MODE_NAMES), None)
        refuse_if(unknown is not None, f"{path}: pooling_mode {unknown!r} is not one of {', '.join(MODE_NAMES)}")
        modes = [MODE_NAMES[name] for name in names]
    width = config.get("embedding_dimension", config.get("word_embedding_dimension"))
    width = expect(width, int, f"{path}: embedding_dimension", FETCH)
    includes_prompt = expect(config.get("include_prompt", True), bool, f"{path}: include_prompt", FETCH)
    return ",".join(modes), includes_prompt, width


def _read_prompts(config: JsonObject, path: str, strict: bool) -> tuple[dict[str, str], str | None]:
    """Return the prompts by name, and the default one's name."""
    SENTENCE_KEYS.check(path, config)
    SENTENCE_KEYS.name_unknown(path, config, strict)
    prompts = expect(config.get("prompts") or {}, dict, f"{path}: prompts", FETCH)
    texts = {name: expect(text or "", str, f"{path}: prompts.{name}", FETCH) for name, text in prompts.items()}
    if config.get("default_prompt_name") is None:
        return texts, None
    default_name = expect(config["default_prompt_name"], str, f"{path}: default_prompt_name", FETCH)
    refuse_if(default_name not in texts, f"{path}: default_prompt_name {default_name!r} is not one of its prompts")
    return texts, default_name
