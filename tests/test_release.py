"""tests/release.py: reproducible archives, and conditions for a tag."""

import datetime
import tarfile
import zipfile

import pytest

from tests import release

DAY = datetime.date(2026, 12, 24)
SETUP = """from setuptools import setup
import pathlib
pathlib.Path("bert_cli/made.txt").write_text({made})
setup(version="0.3.0", packages=["bert_cli"], package_data={{"": ["*.txt"]}})
"""


@pytest.fixture
def clone(tmp_path):
    """Make a small clone, without the user's configuration of git."""
    folder = tmp_path / "clone"
    (folder / "bert_cli").mkdir(parents=True)
    (folder / "bert_cli" / "__init__.py").write_text('__version__ = "0.3.0"\n', encoding="utf-8")
    (folder / "CHANGELOG.md").write_text("# Changelog\n\n## 0.3.0 - 2026-12-01\n\n- one\n", encoding="utf-8")
    (folder / "setup.py").write_text(SETUP.format(made="'one'"), encoding="utf-8")
    (folder / "light").mkdir()
    for name in ("bert_cli", "setup.py"):
        (folder / "light" / name).symlink_to(f"../{name}")
    for name, path in (("bert_cli", folder), ("bert_cli_light", folder / "light")):
        (path / "pyproject.toml").write_text(f'[project]\nname = "{name}"\ndynamic = ["version"]\n', encoding="utf-8")
    release.git(folder, "init", "--quiet", "--initial-branch=main")
    release.git(folder, "config", "user.name", "A")
    release.git(folder, "config", "user.email", "a@localhost")
    commit(folder)
    return folder


def commit(folder):
    release.git(folder, "add", "--all")
    release.git(folder, "commit", "--quiet", "--message=One")


def test_a_clean_dated_version_without_a_tag_can_be_tagged(clone):
    release.check_clean(clone)
    release.check_tag(clone)
    assert release.date_changelog(clone, DAY) is None
    assert release.git(clone, "rev-list", "--count", "HEAD") == "1"


def test_an_unreleased_section_gets_its_date_in_a_commit(clone):
    text = "# C\n\n## 0.3.0 (unreleased)\n\n- one, 0.3.0 (unreleased)\n\n## 0.2.0 - 2026-01-01\n"
    (clone / "CHANGELOG.md").write_text(text, encoding="utf-8")
    commit(clone)
    release.check_tag(clone)
    short = release.date_changelog(clone, DAY)
    assert release.git(clone, "log", "-1", "--format=%h %s") == f"{short} Release 0.3.0"
    release.check_clean(clone)
    dated = text.replace("## 0.3.0 (unreleased)", "## 0.3.0 - 2026-12-24")
    assert (clone / "CHANGELOG.md").read_text(encoding="utf-8") == dated


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# C\n\n## 0.3.0 - December\n",
         "CHANGELOG.md:3: '- December' is no date: write ## 0.3.0 (unreleased) or 0.3.0 - YYYY-MM-DD"),
        ("\n## 0.4.0 - 2026-12-01\n\n## 0.3.0 - 2026-11-01\n",
         "CHANGELOG.md:2: the first section should be 0.3.0, as in bert_cli/__init__.py"),
        ("", "CHANGELOG.md:1: the first section should be 0.3.0, as in bert_cli/__init__.py"),
    ],
)  # fmt: skip
def test_a_changelog_of_no_release(clone, text, message):
    (clone / "CHANGELOG.md").write_text(text, encoding="utf-8")
    with pytest.raises(release.ReleaseError) as error:
        release.check_tag(clone)
    assert str(error.value) == message


def test_a_version_gets_one_tag(clone):
    release.git(clone, "tag", "v0.3.0")
    with pytest.raises(release.ReleaseError, match=r"^the tag v0\.3\.0 exists: raise __version__ in"):
        release.check_tag(clone)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["switch", "--quiet", "--create", "fix"], "fix is checked out: git switch main"),
        (["switch", "--quiet", "--detach"], "no branch is checked out: git switch main"),
    ],
)
def test_another_branch_gets_no_tag(clone, words, message):
    release.git(clone, *words)
    with pytest.raises(release.ReleaseError) as error:
        release.check_tag(clone)
    assert str(error.value) == message


def test_files_that_the_commit_lacks(clone, tmp_path):
    (clone / "notes.txt").touch()
    (clone / "setup.py").unlink()
    with pytest.raises(release.ReleaseError, match=r"^setup\.py and 1 more: commit or remove it$"):
        release.release(clone, tmp_path / "dist")
    assert not (tmp_path / "dist").exists()


def test_archives_have_committed_files(clone, tmp_path):
    """Two trees make equal archives, or release fails; ignored files are left out."""
    (clone / ".gitignore").write_text("*.txt\n", encoding="utf-8")
    (clone / "setup.py").chmod(0o600)
    commit(clone)
    (clone / "bert_cli" / "user.txt").touch()
    archives = release.release(clone, tmp_path / "dist")
    assert [archive.name for archive in archives] == [
        f"{name}-0.3.0{suffix}"
        for name in ("bert_cli", "bert_cli_light")
        for suffix in (".tar.gz", "-py3-none-any.whl")
    ]
    sdist, wheel = archives[:2]
    with tarfile.open(sdist) as archive:
        members = archive.getmembers()
    assert [member.name for member in members] == sorted(member.name for member in members)
    assert {(member.uid, member.uname, member.mode) for member in members if member.isfile()} == {(0, "", 0o644)}
    assert {member.mtime for member in members} == {int(release.git(clone, "log", "-1", "--format=%ct"))}
    with zipfile.ZipFile(wheel) as archive:
        assert [name for name in archive.namelist() if name.endswith(".txt") and "info" not in name] == [
            "bert_cli/made.txt"
        ]


def test_builds_that_differ_are_no_release(clone, tmp_path):
    (clone / "setup.py").write_text(SETUP.format(made="str(pathlib.Path.cwd())"), encoding="utf-8")
    commit(clone)
    with pytest.raises(release.ReleaseError, match=r"^bert_cli-0\.3\.0\.tar\.gz: two builds of one commit differ$"):
        release.release(clone, tmp_path / "dist")


def test_a_failed_build_shows_its_output(clone, tmp_path):
    (clone / "setup.py").write_text("raise SystemExit('no setup today')", encoding="utf-8")
    commit(clone)
    with pytest.raises(release.ReleaseError, match="no setup today"):
        release.release(clone, tmp_path / "dist")
