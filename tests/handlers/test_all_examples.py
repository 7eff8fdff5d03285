# SPDX-License-Identifier: Apache-2.0
"""All examples of config/conf.d as files: together as one configuration, and the text of each."""
import re

import examples
import pytest
from harness import check_config

FOLDER = examples.CONFIG / "conf.d"
NAMES = sorted(path.name.removesuffix(".conf.example") for path in FOLDER.glob("*.example"))


def with_folders(text, root):
    """The example, with its output files below root; makes the folders that they need."""
    for folder in re.findall(r'output = "(/[^"$]+)/', text):
        (root / folder[1:]).mkdir(parents=True, exist_ok=True)
        text = text.replace(f'output = "{folder}/', f'output = "{root}{folder}/')
    return text


def test_all_examples_can_be_used_together(example, factory, api, tmp_path):
    texts = {name: with_folders(example.text(name, {}), tmp_path / "root") for name in NAMES}
    clusters = set(re.findall(r'cluster = "(\w+)"', "".join(texts.values())))
    d = example(NAMES[0], clusters={name: factory.cluster(api) for name in clusters}, start=False)
    for name, text in texts.items():
        (d.folder / "conf.d" / f"{name}.conf").write_text(text)
    done = check_config(d.config)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_an_example_says_what_it_does_and_needs_and_may_read(name):
    text = (FOLDER / f"{name}.conf.example").read_text()
    head = text.partition("\n\nwatches")[0]
    assert re.search(rf"^# {name.replace('-', '[-_]')}\b.*: ", head, re.M), "says what it does"
    assert "# Needs " in head and "# Access (informerd --print-rbac):" in head
    assert f"cp {name}.conf.example /etc/informerd/conf.d/{name}.conf" in head


@pytest.mark.parametrize("name", NAMES)
def test_the_hooks_of_an_example_exist(name):
    text = (FOLDER / f"{name}.conf.example").read_text()
    for hook in re.findall(r"/usr/lib/informerd/hooks/([\w.-]+)", text):
        assert (examples.CONFIG / "hooks" / hook).is_file(), hook
