# SPDX-License-Identifier: Apache-2.0
"""A selector that was edited while informerd was down: hooks get LEFT for objects that still exist,
and the guard stays on."""
import pytest
from fakeapi import service
from harness import hook_settings


def labelled(name, label="x", ns="n"):
    return service(f"{ns}/{name}", labels={"app": label})


def watches(**more):
    return {"services": {"resource": "services", "namespaces": ["*"],
                         "guard": {"hold": "1h"}, **more}}


@pytest.fixture
def edited(api, left):
    """edited(before, after, obj, ...): a daemon that was stopped when its watch had the first
    settings and it knew these objects. When it is started again the watch has the second
    settings."""
    def make(before, after, *objects, **settings):
        d = left(*objects, daemon={"watches": watches(**before)}, **settings)
        d.settings["watches"] = watches(**after)
        d.write_config()
        return d
    return make


EDITS = {
    "label": ({"label_selector": "app in (x, y)"}, {"label_selector": "app=y"}),
    "field": ({}, {"field_selector": "metadata.name!=gone,metadata.name!=there"}),
    "namespaces": ({"namespaces": ["n", "m"]}, {"namespaces": ["m"]}),
    "fewer": ({"namespaces": ["*"]}, {"namespaces": ["m"]}),
    "names": ({"names": ["gone", "there", "stays"], "namespaces": ["n", "m"]},
              {"names": ["stays"], "namespaces": ["n", "m"]}),
}


@pytest.mark.parametrize("events", [["deleted"], ["added", "modified", "deleted", "left"]])
@pytest.mark.parametrize("edit", EDITS)
def test_a_delete_while_down_is_told_though_the_selector_was_edited(api, edited, hook, edit, events):
    before, after = EDITS[edit]
    d = edited(before, after, labelled("gone"), labelled("there"), labelled("stays", "y", "m"),
               events=events)
    api.delete("services", "n/gone")
    d.start()
    told = [("DELETED", "n/gone"), ("LEFT", "n/there")][:1 if events == ["deleted"] else 2]
    hook.wait(len(told))
    d.caught_up(api)
    assert sorted(hook.what()) == told
    assert hook.wait_what("DELETED", "n/gone").event["final_state_unknown"] is True
    assert d.control.keys("services") == ["m/stays"]


def test_one_list_of_metadata_without_selectors_decides(api, edited, hook):
    d = edited(*EDITS["label"], *[labelled(f"s{i}") for i in range(20)], labelled("stays", "y"))
    for i in range(0, 20, 4):
        api.delete("services", f"n/s{i}")
    known = api.rv
    d.start()
    hook.wait(20)
    d.caught_up(api)
    asked = [r for r in api.of("services", "L")]
    assert [("labelSelector" in r.query, "as=PartialObjectMetadataList" in r.accept)
            for r in asked] == [(True, False), (False, True)]
    assert asked[1].rv is None and int(known) >= 20
    assert sorted(hook.what()) == sorted(("LEFT" if i % 4 else "DELETED", f"n/s{i}") for i in range(20))


def test_a_wider_selector_and_an_empty_list_is_held(api, edited, hook):
    """The server has lost all objects. That the selector was edited too is no reason to believe
    it."""
    objects = [labelled(f"s{i}") for i in range(20)]
    d = edited({"label_selector": "app=x"}, {}, *objects)
    for i in range(20):
        api.delete("services", f"n/s{i}", silent=True)
    api.compact()
    d.start()
    held = d.control.wait_watch("services", held=True)
    assert (held["held_reason"], held["held_deletes"], held["objects"]) == ("deletes", 20, 20)
    assert not hook.runs()
    assert d.ctl("guard", "accept", "services").returncode == 0
    hook.wait(20)
    assert {what for what, _ in hook.what()} == {"DELETED"}


@pytest.mark.parametrize("code", [403, 405])
def test_the_selectors_decide_where_the_list_is_refused(api, edited, hook, code):
    d = edited({"label_selector": "app"}, {"label_selector": "app=y"}, labelled("explained"),
               labelled("unexplained", "y"), labelled("stays", "y", "m"))
    api.delete("services", "n/unexplained")
    api.on_list("services", times=None, where=lambda r: "labelSelector" not in r.query).fail(code)
    d.start()
    hook.wait(2)
    d.caught_up(api)
    assert sorted(hook.what()) == [("DELETED", "n/unexplained"), ("LEFT", "n/explained")]
    assert [line for line in d.problems() if "cannot check which objects" in str(line)]


def test_objects_that_only_left_do_not_count_for_the_guard(api, edited, hook):
    d = edited({}, {"label_selector": "app=y"}, *[labelled(f"s{i}") for i in range(20)])
    d.again(api)
    assert len(hook.runs()) == 20 and {what for what, _ in hook.what()} == {"LEFT"}
    assert hook_settings(hook) and d.control.watch("services")["objects"] == 0
