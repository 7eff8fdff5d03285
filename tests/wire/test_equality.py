# SPDX-License-Identifier: Apache-2.0
"""Objects are compared by their values: when another release of an API server writes the same
objects with other bytes, hooks do not run, whether informerd is running then or not."""
import json

import pytest
from fakeapi import service
from harness import MODES, NOW

CHANGED = ["spec.ports[0].name", "spec.ports[0].port", "spec.ports[0].targetPort"]


def thing(port=80):
    """An object with a template as in Deployments, and with text that can be written in several
    ways."""
    obj = service("n/a", ports=[port], annotations={"note": "a/b < \xe9 \U0001f600"})
    obj["spec"]["template"] = {"metadata": {"creationTimestamp": None, "labels": {"a": "1"}}}
    return obj


def turned(value):
    if isinstance(value, dict):
        return {name: turned(value[name]) for name in reversed(value)
                if (name, value[name]) != ("creationTimestamp", None)}
    return [turned(item) for item in value] if isinstance(value, list) else value


def rewritten(obj, sort=False):
    """The same object with its members in the other order, without null timestamps, with a
    generation, white space, and all possible escapes."""
    shown = turned(obj)
    shown["metadata"]["generation"] = 7
    text = json.dumps(shown, indent=1, separators=(" ,", " : "), sort_keys=sort)
    return text.replace("<", "\\u003c").replace("/", "\\/").encode()


@pytest.mark.parametrize("changes_in", [[], ["spec", "metadata.annotations"]])
@pytest.mark.parametrize("mode", MODES)
def test_another_encoding_of_the_same_state_is_no_change(api, handled, hook, mode, changes_in):
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
def test_another_encoding_while_informerd_was_down_is_no_change(api, left, hook, mode, persist,
                                                                how):
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
