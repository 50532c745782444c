"""Ensembles to export: the members' models, which must take the same token ids."""

import dataclasses
from collections.abc import Sequence

from bert_cli.base.errors import refuse_if
from bert_cli.base.head_types import CLASSIFIER
from bert_cli.exports.exported import ModelToExport, find_model_to_export
from bert_cli.opening.paths import ensemble_members
from bert_cli.predicting.ensemble import check_same_texts, label_order
from bert_cli.settings.tools import ExportSettings


def find_models(settings: ExportSettings) -> ModelToExport:
    """Load the model for an export, or the members of --ensemble as one model.

    Raises:
        InputError: if a model does not fit the flags, or the members do not belong together.
    """
    if not settings.export.ensemble:
        return find_model_to_export(settings)
    folders = ensemble_members(settings.export.ensemble, "--ensemble")
    flags = settings.model
    members = [
        find_model_to_export(dataclasses.replace(settings, model=dataclasses.replace(flags, init_checkpoint=folder)))
        for folder in folders
    ]
    return _join(folders, members)


def _join(folders: Sequence[str], members: Sequence[ModelToExport]) -> ModelToExport:
    """Return the first member with the others, and with the order of their labels."""
    first, name = members[0], folders[0]
    for folder, member in zip(folders, members, strict=True):
        refuse_if(
            member.head_type != CLASSIFIER,
            f"{folder}: is no classifier of texts, and an ensemble is exported for those alone; leave it out",
        )
        refuse_if(
            member.labels is None,
            f"{folder}: has no labels.txt, by which the members of an ensemble are matched",
        )
        check_same_texts((name, folder), (first.takes_pairs, member.takes_pairs))
        _check_same_ids((name, folder), (first, member))
    orders = label_order(folders, [member.decoder for member in members])
    return dataclasses.replace(first, members=tuple(members), orders=orders)


def _check_same_ids(names: tuple[str, str], models: tuple[ModelToExport, ModelToExport]) -> None:
    """Raise InputError if two models make other token ids of a text."""
    first, second = (model.model for model in models)
    for thing, are_equal in (
        ("vocabulary", first.vocabulary.tokens == second.vocabulary.tokens),
        ("value of do_lower_case", first.do_lower_case == second.do_lower_case),
        ("tokenizer", first.tokenizer_settings == second.tokenizer_settings),
    ):
        refuse_if(
            not are_equal,
            f"{names[1]}: has another {thing} than {names[0]}, and an exported ensemble has one tokenizer; predict with "
            "bert-classify --ensemble",
        )
    lengths = [model.max_seq_length for model in models]
    refuse_if(
        lengths[0] != lengths[1],
        f"{names[1]}: has sequences of {lengths[1]} tokens, and {names[0]} of {lengths[0]}; give --max_seq_length",
    )
