# SPDX-License-Identifier: Apache-2.0
"""Equality is of values: another release of an API server that writes the same objects with other
bytes changes nothing for hooks, while informerd runs and while it does not."""
import json

import pytest
from fakeapi import service

NOW = {"settle": ["0s", "0s"]}
CHANGED = ["spec.ports[0].name", "spec.ports[0].port", "spec.ports[0].targetPort"]
MODES = ["object", "batch", "snapshot"]


def thing(port=80):
    """A template as in Deployments, and text that can be written in several ways."""
    obj = service("n/a", ports=[port], annotations={"note": "a/b < \xe9 \U0001f600"})
    obj["spec"]["template"] = {"metadata": {"creationTimestamp": None, "labels": {"a": "1"}}}
    return obj


def turned(value):
    if isinstance(value, dict):
        return {name: turned(value[name]) for name in reversed(value)
                if (name, value[name]) != ("creationTimestamp", None)}
    return [turned(item) for item in value] if isinstance(value, list) else value


def rewritten(obj, sort=False):
    """The other order, no null timestamps, a generation, white space, and all the escapes."""
    shown = turned(obj)
    shown["metadata"]["generation"] = 7
    text = json.dumps(shown, indent=1, separators=(" ,", " : "), sort_keys=sort)
    return text.replace("<", "\\u003c").replace("/", "\\/").encode()


@pytest.mark.parametrize("changes_in", [[], ["spec", "metadata.annotations"]])
@pytest.mark.parametrize("mode", MODES)
def test_a_state_that_is_written_in_another_way_is_no_change(api, handled, hook, mode, changes_in):
    d = handled(thing(), mode=mode, changes_in=changes_in, **NOW)
    api.store.table("services").upgrade(rewritten)
    api.apply(thing())
    d.caught_up(api)
    assert len(hook.runs()) == 1
    shown = d.ctl_json("get", "services", "n/a")
    assert shown["metadata"]["resourceVersion"] == str(api.rv), "the cache has the newest bytes"
    assert shown["metadata"]["generation"] == 7
    api.apply(thing(port=81))
    _, second = hook.wait(2)
    d.caught_up(api)
    assert len(hook.runs()) == 2
    (event,) = second.events
    assert (event["type"], event["changed"]) == ("MODIFIED", CHANGED)


@pytest.mark.parametrize("how", ["an event", "a list", "a list with new versions"])
@pytest.mark.parametrize("persist", ["full", "digest"])
@pytest.mark.parametrize("mode", MODES)
def test_nor_is_it_one_when_informerd_was_down_meanwhile(api, left, hook, mode, persist, how):
    watches = {"services": {"resource": "services", "namespaces": ["*"], "persist": persist}}
    d = left(thing(), service("n/b"), mode=mode, daemon={"watches": watches}, **NOW)
    api.store.table("services").upgrade(rewritten)
    if how != "a list":
        api.apply(thing(), service("n/b"))
    if how != "an event":
        api.apply(service("n/c"))
        api.delete("services", "n/c")
        api.compact()
    for _ in range(2):
        d.again(api)
        assert not hook.runs()
        d.stop()
    api.apply(thing(port=81))
    d.again(api)
    (run,) = hook.runs()
    assert run.told == [("MODIFIED", "n/a")]
