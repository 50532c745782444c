"""Signs of text that was decoded with the wrong encoding, in correct and misread texts."""

import pytest

from bert_cli.base.misread_text import describe_misreading, warn_of_misreading

CORRECT = [
    "Það er ánægja; Größe, Spaß“, „Není…“, désolé…», « là\xa0», ¿qué?, 5 × 3…, 3 °C, £5, naïve—été",
    "MANHÃ\xa0» IRMÃ» ÂGE FÂCHÉ À\xa0», ESPAÑA…, ВСЁ»",
    "ẤN ĐỘ là một nước; Ngữ âm, đã có",
    "नमस्ते दुनिया, สวัสดี, مرحبا بالعالم, שלום, 中文字符, 日本語、한국어, Ελλάδα",
]


@pytest.mark.parametrize("text", CORRECT)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252", "latin-1"])
def test_correct_text_has_no_sign(text, encoding):
    assert describe_misreading(text, encoding) is None


@pytest.mark.parametrize(
    ("text", "misread_as", "signs"),
    [
        ("Iraq’s", "latin-1", ["'â\\x80\\x99' instead of '’'", "as latin-1"]),
        ("it’s", "cp1252", ["'â€™' instead of '’'", "as cp1252"]),
        ("un café", "latin-1", ["'Ã©' instead of 'é'"]),
        ("nur £5", "cp1252", ["'Â£' instead of '£'"]),
        ("привет", "latin-1", ["instead of 'привет'"]),
        ("你好", "latin-1", ["instead of '你好'"]),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "UTF8", "utf-16"])
def test_utf8_that_was_encoded_twice_gets_no_flag_to_obey(text, misread_as, signs, encoding):
    description = describe_misreading(text.encode().decode(misread_as), encoding)
    assert all(sign in description for sign in signs), description
    assert "--encoding=" not in description


@pytest.mark.parametrize("text", ["THAT\x92SCOOL", "£5 \x80 caf\xe9", "\x93quoted\x94"])
def test_cp1252_that_another_program_read_as_latin1_gets_no_flag_to_obey(text):
    description = describe_misreading(text, "utf-8")
    assert "holds the control character U+00" in description
    assert "another program read cp1252 as latin-1" in description
    assert "--encoding=" not in description


@pytest.mark.parametrize(
    ("encoding", "advice"),
    [
        ("latin-1", "give --encoding=cp1252"),
        ("ISO-8859-1", "give --encoding=cp1252"),
        ("latin5", "give --encoding=cp1254"),
    ],
)
def test_a_file_read_as_latin1_gets_its_windows_encoding(encoding, advice):
    assert advice in describe_misreading(b"caf\xe9 it\x92s".decode(encoding), encoding)
    # cp1252 does not have this byte.
    assert "is latin-1 its encoding?" in describe_misreading("\x81", "latin-1")


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "iso8859-15", "mac-roman", "cp1251", "gbk"])
def test_utf8_that_is_read_in_another_encoding_is_recognized(encoding):
    text = "Größe für Mädchen, schön und süß".encode().decode(encoding, "ignore")
    assert describe_misreading(text, encoding) == f"is UTF-8, not {encoding}; leave out --encoding"


def test_the_first_line_is_logged_once(caplog):
    lines = ["fine\n", "it’s\n", "itâ€™s\n", "itâ€™s\n"]
    assert list(warn_of_misreading(lines, "a.txt", "utf-8", first_line=5)) == lines
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith("a.txt:7: warning: holds 'â€™'")
