"""Sources for the site: every page is in its navigation, and every link between pages has a file."""

import json

import bert_cli
from tests import site_pages


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
            assert (source / path).parent.joinpath(link).exists(), f"{path}: {link}"
