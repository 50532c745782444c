"""Reproducible archives for a release: `python -m tests.release dist` builds sdists and wheels, for `make release`.

They hold committed files only, and their order, modes and times do not depend on the machine. They are built twice,
and must be equal.
"""

import datetime
import gzip
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
BRANCH = "main"  # releases are commits on this branch
_HEADING = re.compile(r"^## (\S+) (.*)$", re.MULTILINE)
_DATE, _UNRELEASED = re.compile(r"- \d{4}-\d{2}-\d{2}"), "(unreleased)"


class ReleaseError(Exception):
    """A reason why a checkout cannot be released; the message is one line."""


def git(root: pathlib.Path, *words: str) -> str:
    """Return the standard output of git in a checkout, without the last line break."""
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ReleaseError(done.stderr.strip() or f"git {words[0]} failed")
    return done.stdout.rstrip("\n")


def version_of(root: pathlib.Path) -> str:
    """Return a checkout's version."""
    return re.search(r'__version__ = "(.+)"', (root / "bert_cli" / "__init__.py").read_text(encoding="utf-8"))[1]


def check_changelog(root: pathlib.Path) -> bool:
    """Return whether the changelog's first section has a date.

    Raises:
        ReleaseError: the section is not the version's, or has neither a date nor "(unreleased)".
    """
    text, version = (root / "CHANGELOG.md").read_text(encoding="utf-8"), version_of(root)
    heading = _HEADING.search(text)
    line = text[: heading.start()].count("\n") + 1 if heading else 1
    if not heading or heading[1] != version:
        raise ReleaseError(f"CHANGELOG.md:{line}: the first section should be {version}, as in bert_cli/__init__.py")
    if heading[2] != _UNRELEASED and not _DATE.fullmatch(heading[2]):
        raise ReleaseError(
            f"CHANGELOG.md:{line}: {heading[2]!r} is no date: write ## {version} {_UNRELEASED} or {version} - YYYY-MM-DD"
        )
    return heading[2] != _UNRELEASED


def date_changelog(root: pathlib.Path, day: datetime.date) -> str | None:
    """Write a date into the changelog's first section and commit it; return the commit, or None if there is a date."""
    if check_changelog(root):
        return None
    path, version = root / "CHANGELOG.md", version_of(root)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(f"## {version} {_UNRELEASED}", f"## {version} - {day}", 1), encoding="utf-8")
    git(root, "commit", "--quiet", f"--message=Release {version}", "CHANGELOG.md")
    return git(root, "rev-parse", "--short", "HEAD")


def check_clean(root: pathlib.Path) -> None:
    """Raise ReleaseError if the commit lacks something that the working directory has."""
    if changes := git(root, "status", "--porcelain"):
        files = [line[3:] for line in changes.splitlines()]
        raise ReleaseError(f"{files[0]}{f' and {len(files) - 1} more' if files[1:] else ''}: commit or remove it")


def check_tag(root: pathlib.Path) -> None:
    """Raise ReleaseError if the version cannot get its tag."""
    check_changelog(root)
    tag = f"v{version_of(root)}"
    if git(root, "tag", "--list", tag):
        raise ReleaseError(f"the tag {tag} exists: raise __version__ in bert_cli/__init__.py")
    branch = git(root, "branch", "--show-current")
    if branch != BRANCH:
        raise ReleaseError(f"{f'{branch} is' if branch else 'no branch is'} checked out: git switch {BRANCH}")
    git(root, "var", "GIT_COMMITTER_IDENT")  # fails if git does not know who tags


def export(root: pathlib.Path, folder: pathlib.Path) -> int:
    """Write the current commit into a new directory, and return its time in seconds."""
    folder.mkdir()
    archive = folder.with_suffix(".tar")
    git(root, "archive", "--output", str(archive), "HEAD")
    _unpack(archive, folder)
    return int(git(root, "log", "-1", "--format=%ct"))


def _unpack(archive: pathlib.Path, folder: pathlib.Path) -> None:
    with tarfile.open(archive) as files:
        # Python has filters since 3.11.4, and warns without one since 3.12.
        files.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))


def build_all(source: pathlib.Path, folder: pathlib.Path, time: int) -> list[pathlib.Path]:
    """Build both distributions, see `build`."""
    return [archive for part in (source, source / "light") for archive in build(part, folder, time)]


def build(source: pathlib.Path, folder: pathlib.Path, time: int) -> list[pathlib.Path]:
    """Build an sdist from a source directory and a wheel from the sdist, offline, and return their paths.

    Args:
        source: the directory; it gets build files.
        folder: directory for the archives.
        time: seconds since 1970 that all files get.
    """
    with tempfile.TemporaryDirectory() as work:
        made = _run_backend("build_sdist", source, pathlib.Path(work), time)
        sdist = folder / made.name
        _normalize(made, sdist, time)
        _unpack(sdist, pathlib.Path(work))
        unpacked = pathlib.Path(work) / sdist.name.removesuffix(".tar.gz")
        return [sdist, _run_backend("build_wheel", unpacked, folder, time)]


def _run_backend(hook: str, source: pathlib.Path, folder: pathlib.Path, time: int) -> pathlib.Path:
    """Call a hook of setuptools and return the archive's path."""
    script = f"from setuptools import build_meta; print(build_meta.{hook}({str(folder)!r}))"
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(time), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=source, env=environment, umask=0o022, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise ReleaseError(done.stdout + done.stderr)
    return folder / done.stdout.splitlines()[-1]


def _normalize(source: pathlib.Path, target: pathlib.Path, time: int) -> None:
    """Copy an sdist with sorted members that have the same time, owner and modes."""
    with (
        tarfile.open(source) as old,
        target.open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=time) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as new,
    ):
        for member in sorted(old.getmembers(), key=lambda member: member.name):
            content = old.extractfile(member)
            member.mtime, member.uid, member.gid, member.uname, member.gname = time, 0, 0, "", ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.pax_headers = {}
            new.addfile(member, content)


def release(root: pathlib.Path, folder: pathlib.Path) -> list[pathlib.Path]:
    """Build the current commit twice, in two trees, and put the archives into a new directory.

    Raises:
        ReleaseError: the working directory has changes, or the two builds differ.
    """
    check_clean(root)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    with tempfile.TemporaryDirectory() as work:
        first, second = pathlib.Path(work, "first"), pathlib.Path(work, "a longer name")
        time = export(root, first)
        export(root, second)
        for path in second.rglob("*"):  # as if another user had cloned it at another time
            path.chmod(path.stat().st_mode & 0o700)
            os.utime(path, (time - 1000, time - 1000))
        archives = build_all(first, folder, time)
        again = pathlib.Path(work, "again")
        again.mkdir()
        for archive, copy in zip(archives, build_all(second, again, time), strict=True):
            if archive.read_bytes() != copy.read_bytes():
                raise ReleaseError(f"{archive.name}: two builds of one commit differ")
    return archives


def main(words: list[str]) -> int:
    """Run a step, print its result, and return the exit code.

    Args:
        words: `check` asks whether the working directory is clean, `prepare` also whether its version can be tagged, and
            dates the changelog; `tag` tags it, and `advise` prints what is left to do. Another word is a directory,
            into which the archives are built.
    """
    (step,) = words
    version = version_of(ROOT)
    tag = f"v{version}"
    try:
        if step in ("check", "prepare", "tag"):
            check_clean(ROOT)
        if step in ("prepare", "tag"):
            check_tag(ROOT)
        if step == "prepare":
            if commit := date_changelog(ROOT, datetime.date.today()):
                print(f"dated {version} in CHANGELOG.md, commit {commit}; the tag follows if everything passes")
        elif step == "tag":
            git(ROOT, "tag", "--annotate", tag, f"--message=bert_cli {version}")
            print(
                f"tagged {git(ROOT, 'rev-parse', '--short', 'HEAD')} as {tag}; git push origin {BRANCH} {tag} publishes it"
            )
        elif step == "advise":
            dates = "" if check_changelog(ROOT) else f"dates {version} in CHANGELOG.md, "
            print(f"make release TAG=yes {dates}does the same, and tags the commit as {tag}")
        elif step != "check":
            for archive in release(ROOT, ROOT / step):
                print(f"{hashlib.sha256(archive.read_bytes()).hexdigest()}  {archive.relative_to(ROOT)}")
    except ReleaseError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
