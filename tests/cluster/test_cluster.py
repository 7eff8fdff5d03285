# SPDX-License-Identifier: Apache-2.0
"""The main cases against whatever API server KUBECONFIG names."""
import os

import pytest

PAGED = {"page_size": 2, "watch_list": "off"}
needs_restart = pytest.mark.skipif(not os.environ.get("INFORMERD_CLUSTER_RESTART"),
                                   reason="INFORMERD_CLUSTER_RESTART is not set")
needs_compact = pytest.mark.skipif(not os.environ.get("INFORMERD_CLUSTER_COMPACT"),
                                   reason="INFORMERD_CLUSTER_COMPACT is not set")


def test_existing_objects_and_changes_reach_the_hook(watch, subject):
    subject.put("first", "1")
    w = watch(subject)
    assert w.saw("ADDED", "first").input["reason"] == "existing"
    w.same()
    subject.put("second")
    assert w.saw("ADDED", "second").input["reason"] == "change"
    subject.put("second", "2")
    run = w.saw("MODIFIED", "second")
    assert subject.value_of(run.event["object"]) == "2"
    assert run.event["object"]["kind"] == subject.kind
    assert run.event["object"]["apiVersion"] == subject.api_version
    subject.delete("first")
    gone = w.saw("DELETED", "first")
    assert subject.value_of(gone.event["object"]) == "1"
    w.same()
    assert w.heard() == [("ADDED", "first"), ("ADDED", "second"), ("MODIFIED", "second"),
                         ("DELETED", "first")]
    assert "managedFields" not in run.event["object"]["metadata"]


def test_an_object_created_again_is_another_object(watch, subject):
    w = watch(subject)
    old = subject.put("twice")["metadata"]["uid"]
    w.saw("ADDED", "twice")
    w.daemon.control.wait_idle()
    subject.delete("twice")
    new = subject.put("twice")["metadata"]["uid"]
    w.hook.wait_for(lambda run: run.what == ("ADDED", w.key("twice"))
                    and run.event["object"]["metadata"]["uid"] == new)
    w.same()
    uids = [(kind, run.event["object"]["metadata"]["uid"])
            for run in w.hook.runs() for kind in [run.what[0]]]
    assert uids == [("ADDED", old), ("DELETED", old), ("ADDED", new)]


def test_an_object_leaves_and_enters_a_label_selector(watch, subject):
    subject.put("in", tier="front")
    subject.put("out", tier="back")
    w = watch(subject, label_selector="tier in (front,edge),!hidden")
    w.saw("ADDED", "in")
    w.same()
    subject.put("in", "2", tier="back")
    w.saw("DELETED", "in")
    subject.put("out", "2", tier="edge")
    w.saw("ADDED", "out")
    subject.put("out", "3", tier="edge", hidden="")
    w.saw("DELETED", "out")
    w.same()
    assert w.heard() == [("ADDED", "in"), ("DELETED", "in"), ("ADDED", "out"), ("DELETED", "out")]


def test_a_field_selector_shows_one_object(watch, subject):
    subject.put("one")
    subject.put("two")
    w = watch(subject, field_selector="metadata.name=one")
    w.same()
    subject.put("two", "2")
    subject.put("one", "2")
    w.saw("MODIFIED", "one")
    w.same()
    assert w.heard() == [("ADDED", "one"), ("MODIFIED", "one")]


def test_lists_come_in_pages(watch, subject):
    names = [f"page{number}" for number in range(7)]
    for name in names:
        subject.put(name)
    w = watch(subject, PAGED).same()
    relisted = w.daemon.control.watch("w")["relists"]
    done = w.daemon.ctl("relist", "w")
    assert done.returncode == 0, done.stderr
    w.daemon.control.wait_watch("w", state="watching", relists=relisted + 1)
    subject.put("page7")
    w.saw("ADDED", "page7")
    w.same()
    assert sorted(w.heard()) == [("ADDED", name) for name in [*names, "page7"]]


@pytest.mark.parametrize("mode", ["auto", "off", "on"])
def test_with_and_without_watch_list(watch, subject, cluster, mode):
    if mode == "on" and not cluster.streams():
        pytest.skip("the server does not stream lists")
    subject.put("a")
    subject.put("b")
    w = watch(subject, {"watch_list": mode}).same()
    subject.put("c")
    w.saw("ADDED", "c")
    subject.delete("a")
    w.saw("DELETED", "a")
    w.same()
    assert sorted(w.heard()[:2]) == [("ADDED", "a"), ("ADDED", "b")]
    assert w.heard()[2:] == [("ADDED", "c"), ("DELETED", "a")]


def test_metadata_only(watch, subject):
    w = watch(subject, keep=["metadata.labels"])
    subject.put("slim", "1", tier="front")
    obj = w.saw("ADDED", "slim").event["object"]
    assert obj["metadata"]["labels"]["tier"] == "front"
    assert (obj["kind"], obj["apiVersion"]) == (subject.kind, subject.api_version)
    assert not {"data", "spec"} & set(obj)


def test_a_crd_comes_goes_and_comes_back(watch, widgets):
    widgets.remove()
    w = watch(widgets)
    assert w.daemon.control.watch("w")["synced"] is False
    widgets.define()
    widgets.put("a")
    w.saw("ADDED", "a")
    w.same()
    widgets.remove()
    w.saw("DELETED", "a")
    widgets.define()
    widgets.put("b")
    w.saw("ADDED", "b")
    w.same()
    assert w.heard() == [("ADDED", "a"), ("DELETED", "a"), ("ADDED", "b")]


@needs_restart
def test_a_restarted_server_loses_and_repeats_nothing(watch, subject, cluster):
    for name in ("kept", "gone"):
        subject.put(name)
    w = watch(subject).same()
    cluster.command("INFORMERD_CLUSTER_RESTART")
    subject.put("new")
    subject.delete("gone")
    w.saw("ADDED", "new")
    w.saw("DELETED", "gone")
    w.same()
    assert sorted(w.heard()) == [("ADDED", "gone"), ("ADDED", "kept"), ("ADDED", "new"),
                                 ("DELETED", "gone")]


@needs_compact
def test_compaction_does_not_disturb_the_watch(watch, subject, cluster):
    for number in range(5):
        subject.put(f"old{number}")
    w = watch(subject, PAGED).same()
    subject.put("old0", "2")
    w.saw("MODIFIED", "old0")
    cluster.command("INFORMERD_CLUSTER_COMPACT")
    subject.put("new")
    w.saw("ADDED", "new")
    assert w.daemon.ctl("relist", "w").returncode == 0
    subject.put("newer")
    w.saw("ADDED", "newer")
    w.same()
    assert len(w.heard()) == 8


@needs_compact
@needs_restart
def test_a_restart_after_compaction_is_a_relist(watch, subject, cluster):
    w = watch(subject)
    subject.put("a")
    w.saw("ADDED", "a")
    for number in range(3):
        subject.put(f"other{number}", namespace="default")
    try:
        cluster.command("INFORMERD_CLUSTER_COMPACT")
        cluster.command("INFORMERD_CLUSTER_RESTART")
        subject.put("a", "2")
        w.saw("MODIFIED", "a")
        w.same()
        assert w.heard() == [("ADDED", "a"), ("MODIFIED", "a")]
    finally:
        cluster.run("delete", subject.resource, "-n", "default", "other0", "other1", "other2")
