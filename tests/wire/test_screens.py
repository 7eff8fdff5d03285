# SPDX-License-Identifier: Apache-2.0
"""The screens in docs/runbook.md and docs/screens are those of the real daemon: each situation is
made for real, and its screens are compared. `./dev screens` writes them anew."""
import re

import pytest
import screens
from situations import SITUATIONS


@pytest.mark.parametrize("situation", SITUATIONS, ids=[s.name for s in SITUATIONS])
def test_the_documents_show_what_informerctl_shows(factory, new_api, authority, situation):
    shown = screens.take(situation, factory, new_api, authority)
    assert shown
    committed = screens.embedded(screens.RUNBOOK.read_text())
    for name, text in shown.items():
        assert all(len(line) <= screens.COLUMNS for line in screens.as_text(text).splitlines())
        if situation.has_files:
            for path, content in screens.files_of(name, text).items():
                assert path.read_text() == content, f"{path.name} is old: ./dev screens"
        if not situation.has_files or name in committed:
            assert committed.get(name) == screens.as_text(text), f"{name} is old: ./dev screens"
    missing = {n for n in committed if n.split("-")[0] == situation.name} - set(shown)
    assert not missing, f"nothing makes the screens {missing}"


def test_each_row_of_the_first_look_leads_to_a_section():
    text = screens.RUNBOOK.read_text()
    sections = {title.lower().replace(" ", "-") for title in re.findall(r"^## (.+)$", text, re.M)}
    links = re.findall(r"\(#([\w-]+)\) \|$", text[:text.index("\n## Stale backends")], re.M)
    assert len(links) == 13 and set(links) == sections - {"first-look", "alerts"}
