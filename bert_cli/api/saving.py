"""Copies of loaded models: in a directory, in a pickle, and in Hugging Face's format."""

import contextlib
import dataclasses
import functools
import html
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn, TypeVar

from bert_cli.api.inputs.made_by_methods import TRAINING_METHODS, MadeByMethods
from bert_cli.base import files
from bert_cli.base.errors import InputError, name_arguments_in_errors
from bert_cli.base.names import BEST_FILE, BUILTIN_MODEL, CALIBRATION, CONFIG, EVAL_RESULTS, REPORT, THRESHOLDS
from bert_cli.base.writing import atomic_write
from bert_cli.flags.paths import path_text
from bert_cli.model.config_files import read_module_config
from bert_cli.opening.paths import run_folders
from bert_cli.sentence.modules import SentenceModules, module_paths
from bert_cli.sentence.writing import module_files
from bert_cli.text.tokenizer_files import find_tokenizer_files
from bert_cli.weights.path import HUB, KERAS, KERAS_HUB, TF1, CheckpointPath
from bert_cli.weights.weights_only import read_weights_only

# Files that a run writes and a model does not need,
# although their suffixes are also used by models.
_OTHER_FILES = frozenset((BEST_FILE, EVAL_RESULTS, REPORT))
_VOCABULARY = "vocab_file"  # directory in a pickle
_DESCRIPTIONS, _WEIGHTS = (".json", ".txt"), (".safetensors", ".h5")


@dataclasses.dataclass(frozen=True)
class ModelSource:
    """Checkpoint and arguments that a model was loaded with.

    Attributes:
        checkpoint: the checkpoint.
        arguments: arguments of `load` except for the path.
        stamp: time and size of the weights, to notice that another training replaced them.
        new_files: the model's files that are in memory alone, by name; they replace those on disk.
    """

    checkpoint: CheckpointPath
    arguments: Mapping[str, Any]
    stamp: tuple[int, int]
    new_files: dict[str, bytes] = dataclasses.field(default_factory=dict)

    @property
    def is_builtin(self) -> bool:
        """Return whether this is the built-in model, which needs no copy."""
        return self.checkpoint.handle == BUILTIN_MODEL

    @property
    def relative_path(self) -> str:
        """Return the path for `load` in a directory with the model's files."""
        return os.path.relpath(self.checkpoint.argument, self.checkpoint.folder)

    def check_unchanged(self) -> None:
        """Raise InputError if the weights were removed or replaced since the model was loaded."""
        checkpoint = self.checkpoint
        if not files.exists(checkpoint.file) or checkpoint_time_and_size(checkpoint) != self.stamp:
            raise InputError(
                f"{checkpoint.name}: was removed or replaced since the model was loaded; load the model again"
            )

    @property
    def vocab_files(self) -> dict[str, str]:
        """Return the tokenizer files that the argument vocab_file names: relative name -> path."""
        path = self.arguments.get("vocab_file")
        paths = (path_text(path), *filter(None, find_tokenizer_files(path_text(path)))) if path else ()
        return {os.path.join(_VOCABULARY, os.path.basename(path)): path for path in paths}

    def contents(self) -> dict[str, bytes]:
        """Return the content of the model's files by name, with the weights at the end.

        A training's checkpoint has two moments of the optimizer per weight, which are left out.

        Raises:
            InputError: see `paths`.
        """
        paths = self.paths()
        weights = read_weights_only(self.checkpoint.location) if self.checkpoint.kind == TF1 else None
        omitted = {*self.new_files, *(filter(self._is_weights, paths) if weights else ())}
        contents = {name: files.read_bytes(path) for name, path in paths.items() if name not in omitted}
        return self.new_files | contents | (weights or {})

    def paths(self) -> dict[str, str]:
        """Return the model's files: name -> path, with the weights at the end.

        Raises:
            InputError: if the files have changed, or a tensorflow-hub module computes the model.
        """
        self.check_unchanged()
        checkpoint = self.checkpoint
        config = checkpoint.companion(CONFIG)
        if config and read_module_config(config):
            raise InputError(
                f"{checkpoint.folder}: needs a module for tensorflow-hub; copy the directory with its module"
            )
        if checkpoint.kind in (HUB, KERAS_HUB):
            return _tree(checkpoint.folder)
        paths = {
            name: os.path.join(folder, name)
            for folder in reversed(run_folders(checkpoint))
            for name in files.list_directory(folder)
            if name.endswith(_DESCRIPTIONS) and name not in _OTHER_FILES
            if folder == checkpoint.folder or name in (THRESHOLDS, CALIBRATION)
        } | module_paths(checkpoint.folder)
        for name in sorted(filter(self._is_weights, files.list_directory(checkpoint.folder)), reverse=True):
            paths[name] = os.path.join(checkpoint.folder, name)
        return paths

    def _is_weights(self, name: str) -> bool:
        checkpoint = self.checkpoint
        if checkpoint.kind == TF1:
            prefix = os.path.basename(checkpoint.location)
            return name == f"{prefix}.index" or name.startswith(f"{prefix}.data-")
        if checkpoint.kind == KERAS:
            return name == os.path.basename(checkpoint.location)
        return name.endswith(_WEIGHTS)


def checkpoint_time_and_size(checkpoint: CheckpointPath) -> tuple[int, int]:
    """Return the time in ns and the size of a checkpoint's main file."""
    return files.mtime_ns(checkpoint.file), files.file_size(checkpoint.file)


def _tree(folder: str) -> dict[str, str]:
    """Return all files below a local directory: relative name -> path."""
    paths = [os.path.join(parent, name) for parent, _, names in os.walk(folder) for name in names]
    return {os.path.relpath(path, folder): path for path in sorted(paths)}


class SavableModel(MadeByMethods):
    """Base class for models that can be copied.

    Such a model can be pickled, also by joblib and copy.deepcopy. The pickle has the weights.

    Attributes:
        source: the checkpoint, and the arguments of `load`.
        is_temporary: whether the model's files are deleted together with the model.
    """

    source: ModelSource
    is_temporary: bool = False

    def _facts(self) -> dict[str, str]:
        """Return what a notebook shows of the model: name -> text."""
        # A temporary directory is deleted together with the model.
        return {"model": "temporary; save(directory) keeps it" if self.is_temporary else self.source.checkpoint.name}

    def __repr__(self) -> str:
        return "\n".join([type(self).__name__, *(f"  {name}: {text}" for name, text in self._facts().items())])

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{name}</th><td>{html.escape(text)}</td></tr>" for name, text in self._facts().items())
        return f"<b>{type(self).__name__}</b><table>{rows}</table>"

    @name_arguments_in_errors()
    def save(self, directory: str | os.PathLike) -> None:
        """Copy the model's files to a directory, that `load` reads as the same model.

        Weights are copied without the optimizer's moments, which only a resumed training needs.
        The directory has no arguments of `load`: pass these to the next `load`, too. A
        FeatureExtractor writes its pooling as modules of sentence-transformers.

        Args:
            directory: a new or an empty directory.

        Raises:
            InputError: if the directory has files, or the model's files have changed.
        """
        folder = path_text(directory, "directory")
        if files.exists(folder) and (not files.is_directory(folder) or files.list_directory(folder)):
            raise InputError(f"{folder}: exists already and is not empty; give a new directory")
        contents = self.source.contents()
        files.check_can_write(folder, "directory")
        modules = self._chosen_modules()
        if modules:
            copied = module_paths(self.source.checkpoint.folder)
            contents = {name: content for name, content in contents.items() if name not in copied}
        _write_files(folder, contents | (module_files(modules) if modules else {}))

    def _chosen_modules(self) -> SentenceModules | None:
        """Return modules of sentence-transformers to write into a copy; None to copy the model's."""
        return None

    @name_arguments_in_errors(to="directory")
    def to_hugging_face(self, directory: str | os.PathLike) -> None:
        """Write the model to a directory in Hugging Face's format, as bert-convert does.

        Args:
            directory: a directory without a model.

        Raises:
            InputError: if Hugging Face's classes cannot compute the model, or the directory has one.
        """
        from bert_cli.api.conversion import write_hugging_face

        source, folder = self.source, path_text(directory, "directory")
        source.paths()  # refuses files that have changed
        write_hugging_face(source.checkpoint, source.arguments, folder, self._chosen_modules(), source.new_files)

    def __reduce__(self) -> tuple:
        source = self.source
        contents = {} if source.is_builtin else source.contents()
        arguments = dict(source.arguments)
        if vocab_files := source.vocab_files:
            contents |= {name: files.read_bytes(path) for name, path in vocab_files.items()}
            arguments["vocab_file"] = next(iter(vocab_files))
        state = {name: value for name, value in vars(self).items() if name in ("report", "on_cut")}
        path = None if source.is_builtin else source.relative_path
        return _restore, (type(self), path, contents, arguments, state)


Model = TypeVar("Model", bound=SavableModel)


def remember_model_source(model: Model, checkpoint: CheckpointPath, arguments: Mapping[str, Any]) -> Model:
    """Return a model that remembers its checkpoint and the arguments of `load`."""
    model.source = ModelSource(checkpoint, dict(arguments), checkpoint_time_and_size(checkpoint))
    # They belong to the class and return a new model, so a call on an object would change nothing.
    for name in TRAINING_METHODS:
        if hasattr(model, name):
            vars(model)[name] = functools.partial(_refuse_training, weakref.ref(model), name)
    return model


def _refuse_training(
    reference: Callable[[], SavableModel | None], method: str, *_: object, **options: object
) -> NoReturn:
    """Raise InputError for a training that is called on a model instead of its class."""
    model = reference()
    assert model is not None, "the method was called on it"
    name = type(model).__name__
    path, first = model.source.checkpoint.argument, ""
    if model.is_temporary:
        path, first = "directory", 'save("directory"), and then '
    raise InputError(
        f"{method} makes a new model and leaves this one as it is; to train this one further: {first}"
        f'{name}.{method}(…, init_checkpoint="{path}")'
    )


def _restore(
    model_class: Any, path: str | None, contents: Mapping[str, bytes], arguments: dict[str, Any], state: dict[str, Any]
) -> Any:
    """Return a model from a pickle.

    Args:
        model_class: the model's class.
        path: path for `load` among the files; None for the built-in model.
        contents: the model's files.
        arguments: other arguments of `load`; vocab_file may be one of the files.
        state: attributes that `load` does not set.
    """
    if not contents:
        model = model_class.load(path, **arguments)
    else:
        with temporary_folder() as folder:
            _write_files(folder, contents)
            if arguments.get("vocab_file") in contents:
                arguments = arguments | {"vocab_file": os.path.join(folder, arguments["vocab_file"])}
            folder_path = None if path is None else os.path.normpath(os.path.join(folder, path))
            model = model_class.load(folder_path, **arguments)
        delete_with(model, folder)
    vars(model).update(state)
    return model


@contextlib.contextmanager
def temporary_folder() -> Iterator[str]:
    """Make a temporary directory, and delete it if the block fails; otherwise see `delete_with`."""
    folder = tempfile.mkdtemp(prefix="bert_cli-")
    try:
        yield folder
    # Ctrl-C must not leave a directory of several hundred
    # megabytes either, unless a training keeps it.
    except BaseException as error:
        if getattr(error, "output_dir", None) != folder:
            shutil.rmtree(folder, ignore_errors=True)
        raise


def delete_with(model: SavableModel, folder: str) -> None:
    """Delete a directory together with a model, or when the process ends."""
    model.is_temporary = True
    # Unlike __del__, finalize also runs when the process ends.
    weakref.finalize(model, shutil.rmtree, folder, ignore_errors=True)


def _write_files(folder: str, contents: Mapping[str, bytes]) -> None:
    for name, content in contents.items():
        path = os.path.join(folder, name)
        files.make_directory(os.path.dirname(path))
        with atomic_write(path, "wb") as file:
            file.write(content)
