"""Groups of rows of one length."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bert_cli.features.stream import alike_groups


@given(st.lists(st.integers(1, 9), max_size=60), st.integers(1, 40))
def test_each_row_is_in_one_group_of_its_length(lengths, max_tokens):
    lengths = np.array(lengths, np.int64)
    groups = alike_groups(lengths, max_tokens)
    assert sorted(np.concatenate(groups).tolist() if groups else []) == list(range(len(lengths)))
    for rows in groups:
        assert len(rows)
        assert len(set(lengths[rows].tolist())) == 1
        assert len(rows) == 1 or lengths[rows].sum() <= max_tokens
    firsts = [lengths[rows[0]] for rows in groups]
    assert firsts == sorted(firsts, reverse=True)
    assert len(groups) <= sum(-(-int((lengths == n).sum()) // max(1, max_tokens // n)) for n in set(lengths.tolist()))
