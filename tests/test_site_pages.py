"""Sources for the site: every page is in its navigation, and every link between pages has a file."""

import json

import pytest

import bert_cli
from tests import site_hooks, site_pages


def test_the_site_has_all_pages(tmp_path):
    folder = tmp_path / "sources"
    site_pages.write_sources(folder)
    source = folder / "pages"
    config = json.loads((folder / "mkdocs.yml").read_text(encoding="utf-8"))
    listed = site_pages.pages(config["nav"])
    assert len(listed) == len(set(listed))
    assert {path.relative_to(source).as_posix() for path in source.rglob("*.md")} == {
        path for path in listed if path.endswith(".md")
    }
    pages = {path.relative_to(site_pages.ROOT).as_posix() for path in (site_pages.ROOT / "docs").rglob("*.md")}
    assert pages <= set(listed)
    assert {f"api/{name}.md" for name in bert_cli.__all__ if name != "__version__"} <= set(listed)
    assert (source / "docs" / "images" / "terminal.svg").is_file()
    for path in listed:
        for link in site_pages.links(source / path):
            target = (source / path).parent.joinpath(link)
            # The links of notebooks are those of the built site.
            sources = (
                [target.with_suffix(suffix) for suffix in (".md", ".ipynb")] if link.endswith(".html") else [target]
            )
            assert any(file.exists() for file in sources), f"{path}: {link}"
    assert not [link for link in site_pages.links(source / "docs/tutorials/lecture.ipynb") if link.endswith(".md")]
    assert "`--format=saved_model|onnx`" in (source / "docs" / "bert-export.md").read_text(encoding="utf-8")


def test_flags_in_a_text_stay_on_one_line():
    flag = '<span class="flag">{}</span>'
    code = f"<code>{flag.format('--a_b')}=one|<wbr>two {flag.format('--c-d')}</code>"
    assert site_hooks.on_page_content("<p>x--y <code>--a_b=one|two --c-d</code></p>") == f"<p>x--y {code}</p>"
    highlighted = "<pre><code><span>bert-serve</span> --port</code></pre>"
    assert site_hooks.on_page_content(highlighted) == highlighted


def test_links_without_a_target_are_named(tmp_path):
    (tmp_path / "docs").mkdir()
    page = '<a href="https://example.com/x.html"></a><a href="#a"></a><h1 id="a"></h1><img src="../b%20c.png">'
    (tmp_path / "docs" / "one.html").write_text(
        page + '<a href="../index.html#top"></a><a href="..">', encoding="utf-8"
    )
    (tmp_path / "index.html").write_text('<a name="top" href="docs/one.html#a"></a>', encoding="utf-8")
    (tmp_path / "b c.png").touch()
    site_hooks.check_links(tmp_path)
    (tmp_path / "b c.png").unlink()
    (tmp_path / "index.html").write_text('<a href="docs/one.html#b"></a><a href="two.md"></a>', encoding="utf-8")
    with pytest.raises(site_hooks.LinkError) as error:
        site_hooks.check_links(tmp_path)
    assert sorted(str(error.value).splitlines()) == [
        "docs/one.html: no target for ../b%20c.png",
        "docs/one.html: no target for ../index.html#top",
        "index.html: no target for docs/one.html#b",
        "index.html: no target for two.md",
    ]
