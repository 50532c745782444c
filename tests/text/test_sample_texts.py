"""Sample texts for the comparison of tokenizers."""

from bert_cli.text.sample_texts import make_texts_for_tokenizers
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.tokenizer_settings import GOOGLE, AddedToken, TokenizerSettings

TOKENS = ["[UNK]", "[CLS]", "all", "work", "##x", "##ing", "Work", "é", "<user>"]
IDS = {token: index for index, token in enumerate(TOKENS)}
SETTINGS = TokenizerSettings(added_tokens=(AddedToken("<user>", 8), AddedToken("[CLS]", 1)), never_split=("a-b",))


def test_texts_are_the_same_for_the_same_seed():
    texts = make_texts_for_tokenizers(IDS, [GOOGLE, SETTINGS], 3)
    assert texts == make_texts_for_tokenizers(IDS, [GOOGLE, SETTINGS], 3)
    assert texts != make_texts_for_tokenizers(IDS, [GOOGLE, SETTINGS], 4)
    assert texts[-2:] == [
        "the <user> a<user>a, <user><user> <USER> <user>.",
        "the a-b aa-ba, a-ba-b A-B a-b.",
    ]
    assert not any("[CLS]" in text for text in texts)


def test_each_setting_changes_the_tokens_of_a_text():
    texts = make_texts_for_tokenizers(IDS, [SETTINGS], 0)
    usual = [FullTokenizer(IDS).tokenize(text) for text in texts]
    for settings, lower in (
        (SETTINGS, True),
        (TokenizerSettings(never_split=("a-b",)), True),
        (TokenizerSettings(max_word_characters=100), True),
        (TokenizerSettings(max_word_characters=300), True),
        (TokenizerSettings(strip_accents=False), True),
        (TokenizerSettings(tokenize_chinese_chars=False), True),
        (GOOGLE, False),
    ):
        assert [FullTokenizer(IDS, lower, settings=settings).tokenize(text) for text in texts] != usual


def test_a_vocabulary_without_letters():
    assert len(make_texts_for_tokenizers({"[UNK]": 0, "1": 1}, [GOOGLE], 0)) > 30
