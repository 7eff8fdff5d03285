# SPDX-License-Identifier: Apache-2.0
"""docs/hooks.md is right: the test runs every command, and compares all output that the page
shows."""
import json
import pathlib
import re
import shutil
import ssl
import subprocess
import tempfile
import urllib.request

import pytest

from harness import BUILD, INFORMERD, ROOT, SANITIZER
from tutorial import Tutorial, blocks_of, matches, plain


@pytest.mark.slow
def test_the_tutorial_of_hooks_works_as_written():
    """It runs in a folder with a short name, as the path of a socket may have 107 bytes only."""
    assert INFORMERD.exists(), f"{INFORMERD} is not built"
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ifd-"))
    tutorial = Tutorial(ROOT / "docs" / "hooks.md", folder, BUILD)
    try:
        tutorial.follow()
    finally:
        tutorial.close()
        said = "".join(terminal.text() for terminal in tutorial.terminals.values())
        shutil.rmtree(folder)
        assert not [word for word in SANITIZER if word in said], said


def test_a_page_that_shows_something_else_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```sh\necho 2026-01-02T03:04:05Z took 5ms one\n```\n"
                    "```text\n1999-01-02T03:04:05Z took  17ms two\n```\n")
    command, shown = blocks_of(page.read_text())
    said = plain(command.text)[0].removeprefix("echo ")
    assert not matches(plain(shown.text), [said])
    assert matches(plain(shown.text.replace("two", "one")), [said])
    assert matches(["...", said], ["more", "lines", said])
    assert not matches(["...", said], [said, "more"])


def uid_of_an_api(folder):
    """Starts ./dev api on the folder, and ends it; returns the uid that identifies its cluster."""
    with subprocess.Popen(["/usr/bin/python3", ROOT / "tests" / "demo" / "api.py", folder],
                          stdout=subprocess.PIPE, text=True) as api:
        try:
            url = re.search(r"https://[\d.:]+", api.stdout.readline()).group()
            with urllib.request.urlopen(f"{url}/api/v1/namespaces?"
                                        "fieldSelector=metadata.name%3Dkube-system",
                                        context=ssl._create_unverified_context()) as answer:
                return json.load(answer)["items"][0]["metadata"]["uid"]
        finally:
            api.terminate()


def test_an_api_that_is_started_again_is_another_cluster(tmp_path):
    """Its resourceVersions begin anew: a client that resumed with an old version would miss
    changes."""
    assert uid_of_an_api(tmp_path) != uid_of_an_api(tmp_path)
