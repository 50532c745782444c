"""What is done with texts that are longer than max_seq_length."""

import dataclasses

from bert_cli.flags.option import option

TRUNCATE, HEAD_TAIL, WINDOWS = "truncate", "head_tail", "windows"
LONG_TEXTS = (TRUNCATE, HEAD_TAIL, WINDOWS)


@dataclasses.dataclass(frozen=True)
class LongText:
    """Data"""

    long_text: str = option(
        TRUNCATE,
        "of texts longer than max_seq_length: truncate cuts their ends off; head_tail keeps the first quarter and the last "
        "three (Sun et al., 2019); windows cuts nothing: windows that overlap by half, whose logits are averaged",
        choices=LONG_TEXTS,
        decides=True,
        remembered=True,
    )
