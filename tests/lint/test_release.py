# SPDX-License-Identifier: Apache-2.0
"""The checks of a release pass a tree that is ready and name what is missing in another one."""
import datetime
import pathlib
import subprocess
import sys

import csource
import pytest
import release as code

LINT = pathlib.Path(__file__).parent / "release.py"
READY = "# Changelog\n\n## 0.2.0 - 2026-01-02\n\n- New.\n\n## 0.1.0 - 2025-01-02\n\n- Old.\n"


README = "# informerd\n\n**Status: 0.2.** It works.\n"
MANIFEST = "      - name: informerd\n        image: registry.example/informerd:0.2.0\n"


@pytest.fixture(name="release")
def checker(tmp_path):
    def run(version="0.2.0", changelog=READY, readme=README, manifest=MANIFEST):
        (tmp_path / "CMakeLists.txt").write_text("project(informerd VERSION 0.2.0 LANGUAGES C)\n")
        (tmp_path / "CHANGELOG.md").write_text(changelog)
        (tmp_path / "README.md").write_text(readme)
        (tmp_path / "packaging" / "container").mkdir(parents=True)
        (tmp_path / "packaging" / "container" / "informerd.yaml").write_text(manifest)
        done = subprocess.run([sys.executable, str(LINT), "--top", str(tmp_path), version], text=True,
                              check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout
    return run


def test_a_tree_that_is_ready_passes(release):
    assert release() == (0, "")


TOMORROW = (datetime.date.today() + datetime.timedelta(days=1)).isoformat()


@pytest.mark.parametrize("version,changelog,words", [
    ("0.2", READY, "MAJOR.MINOR.PATCH"),
    ("0.3.0", READY, "says 0.2.0, not 0.3.0"),
    ("0.2.0", READY.replace("0.2.0", "0.1.9"), "the first section is of 0.1.9"),
    ("0.2.0", "# Changelog\n", "the first section is of nothing"),
    ("0.2.0", READY.replace("2026-01-02", "unreleased"), "write the date of the release"),
    ("0.2.0", READY.replace("2026-01-02", TOMORROW), "in the future"),
    ("0.2.0", READY.replace("- New.\n", ""), "has no entry"),
    ("0.2.0", READY.replace("2025-01-02", "unreleased"), "0.1.0 is below 0.2.0"),
    ("0.2.0", READY.replace("## 0.1.0", "## 0.10.0"), "0.10.0 is not older"),
])
def test_what_is_missing_is_named(release, version, changelog, words):
    code, told = release(version, changelog)
    assert code == 1 and words in told and len(told.splitlines()) == 1


@pytest.mark.parametrize("copies,words", [
    ({"readme": README.replace("0.2", "0.1")}, "README.md: the version is 0.1, not 0.2"),
    ({"readme": "# informerd\n"}, "README.md: the version is missing, not 0.2"),
    ({"manifest": MANIFEST.replace("0.2.0", "0.2")}, "informerd.yaml: the version is 0.2, not 0.2.0"),
])
def test_a_copy_of_the_version_that_is_another_one_is_named(release, copies, words):
    code, told = release(**copies)
    assert code == 1 and words in told and len(told.splitlines()) == 1


def test_the_copies_of_this_tree_are_found():
    """Else a release would only say so at its end."""
    assert list(code.check_copies(csource.TOP, code.version_of(csource.TOP))) == []
