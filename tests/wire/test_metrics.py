# SPDX-License-Identifier: Apache-2.0
"""/metrics: the format, each number against the work of the daemon, and docs/metrics.md."""
import re
import shutil
import subprocess
import time

import campaign
import promql
import pytest
from control import wait_until
from exposition import Metrics, families
from fakeapi import service
from harness import ONCE, ROOT, hook_settings
from probes import ANY_PORT, Probes

LABELS = {"cluster", "watch", "hook", "result", "type", "reason"}
OF_INFO = {"digest", "version"}


@pytest.fixture
def scraped(api, daemon):
    """scraped(...): (daemon, scrape): scrape() reads the metrics as they are now."""
    def make(**more):
        d = daemon(api, metrics={"listen": [ANY_PORT]}, **more)
        return d, lambda: scrape(d)
    return make


def scrape(d):
    """On the control socket, which answers anew each time."""
    status, headers, body = d.control.ask("/metrics")
    assert status == 200 and headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    return Metrics(body.decode())


def wait_value(read, value, name, **labels):
    wait_until(lambda: read().value(name, **labels) == value, what=f"{name} {labels} is {value}")


def at_work(api, scraped, hook):
    """A daemon that has something to count."""
    api.apply(service("n/a"))
    hook.exit_with(3)
    d, read = scraped(hooks={"h": hook_settings(hook, retry=ONCE)})
    hook.wait(1)
    return d, read


def test_the_format_is_right_and_labels_are_few(api, scraped, hook):
    _d, read = at_work(api, scraped, hook)
    now = read()
    for name, family in now.families.items():
        assert name.startswith(("informerd_", "process_")), name
        for _name, labels in family.samples:
            names = {label for label, _value in labels} - {"le"}
            assert names <= (OF_INFO if name.endswith("_info") else LABELS), (name, labels)
    assert "n/a" not in now.text


def test_over_tcp_it_is_the_same(api, scraped, hook):
    d, read = at_work(api, scraped, hook)
    status, headers, body = Probes(d).ask("/metrics")
    assert status == 200 and headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert set(families(body)) == set(read().families)
    status, headers, body = Probes(d).ask("/metrics", "HEAD")
    assert (status, body) == (200, "") and int(headers["Content-Length"]) > 1000


def test_the_document_names_all_metrics_and_no_others(scraped):
    _d, read = scraped()
    table = re.findall(r"^\| `(\w+)` \| (\w+) \|", (ROOT / "docs/metrics.md").read_text(), re.M)
    assert dict(table) == {name: family.type for name, family in read().families.items()}
    assert len(table) == len(dict(table))


def test_the_document_names_the_labels_of_each_metric(api, scraped, hook):
    _d, read = at_work(api, scraped, hook)
    known = promql.documented()
    for family in read().families.values():
        for name, labels in family.samples:
            assert {label for label, _value in labels} == known[name], name


def test_runs_are_counted_by_result(api, scraped, hook):
    api.apply(service("n/a"))
    d, read = scraped(hooks={"h": hook_settings(hook)})
    wait_value(read, 1, "informerd_hook_runs_total", hook="h", result="ok")
    now = read()
    assert now.value("informerd_hook_run_duration_seconds_count", hook="h") == 1
    assert now.value("informerd_hook_event_to_handled_seconds_count", hook="h") == 1
    assert now.value("informerd_hook_last_success_timestamp_seconds", hook="h") \
        == pytest.approx(time.time(), abs=3600)
    hook.exit_with(3)
    d.settings["hooks"]["h"]["retry"] = ONCE
    d.write_config()
    assert d.ctl("reload").returncode == 0
    api.apply(service("n/b"))
    wait_value(read, 1, "informerd_hook_runs_total", hook="h", result="failed")
    now = read()
    assert now.value("informerd_hook_runs_total", hook="h", result="ok") == 1
    assert now.value("informerd_hook_event_to_handled_seconds_count", hook="h") == 1
    assert now.value("informerd_hook_pending_keys", hook="h") == 1
    assert now.value("informerd_hook_oldest_pending_seconds", hook="h") > 0


def test_a_run_that_is_killed_at_its_timeout_is_counted_as_that(api, scraped, hook):
    hook.block()
    api.apply(service("n/a"))
    _d, read = scraped(hooks={"h": hook_settings(hook, timeout="100ms", retry=ONCE)})
    wait_value(read, 1, "informerd_hook_runs_total", hook="h", result="timeout")
    assert read().value("informerd_hook_runs_total", hook="h", result="failed") == 0


def test_hooks_that_are_paused_or_parked(api, scraped, hook):
    api.apply(service("n/a"))
    hook.exit_with(3)
    d, read = scraped(hooks={"h": hook_settings(hook, park_exit=[3])})
    wait_value(read, 1, "informerd_hook_parked_keys", hook="h")
    assert read().value("informerd_hook_paused", hook="h") == 0
    assert d.ctl("pause", "h").returncode == 0
    assert read().value("informerd_hook_paused", hook="h") == 1


def test_the_change_of_a_slice_is_timed_until_it_is_handled(api, scraped, hook):
    def slice_of(second):
        changed = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - second))
        return {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
                "endpoints": [], "ports": [],
                "metadata": {"namespace": "n", "name": "a", "uid": "u1", "annotations": {
                    "endpoints.kubernetes.io/last-change-trigger-time": changed}}}
    name = "informerd_hook_change_to_handled_seconds"
    d, read = scraped(
        watches={"slices": {"resource": "endpointslices.v1.discovery.k8s.io", "namespaces": ["*"]}},
        hooks={"h": hook_settings(hook, sources=["slices"])})
    api.apply(slice_of(5000))
    hook.wait(1)        # an object that existed before, or is taken for one, tells of no new change
    d.caught_up(api)
    before = read().value(f"{name}_count", hook="h") or 0
    api.apply(slice_of(1000))
    wait_value(read, before + 1, f"{name}_count", hook="h")
    assert read().value(f"{name}_sum", hook="h") >= 1000 * (before + 1)


def test_watches_are_counted(api, scraped, hook):
    api.apply(service("n/a"))
    d, read = scraped(hooks={"h": hook})
    d.settled(api)
    now = read()
    one = {"cluster": "prod", "watch": "services"}
    assert now.value("informerd_watch_objects", **one) == 1
    assert now.value("informerd_watch_bytes", **one) == d.control.watch("services")["bytes"]
    assert now.value("informerd_watch_state", **one) == 0
    assert now.value("informerd_watch_synced", **one) == 1
    assert now.value("informerd_watch_last_contact_timestamp_seconds", **one) \
        == pytest.approx(time.time(), abs=3600)
    api.apply(service("n/b"))
    api.delete("services", "n/b")
    d.hear_newer_bookmark(api)
    now = read()
    assert now.value("informerd_watch_events_total", **one, type="ADDED") == 1
    assert now.value("informerd_watch_events_total", **one, type="DELETED") == 1
    assert now.value("informerd_watch_events_total", **one, type="BOOKMARK") > 0
    assert d.ctl("relist", "services").returncode == 0
    wait_value(read, 1, "informerd_watch_relists_total", **one, reason="manual")


def test_errors_of_a_watch_are_counted_by_reason(api, scraped, hook):
    d, read = scraped(hooks={"h": hook})
    d.settled(api)
    one = {"cluster": "prod", "watch": "services"}
    api.stop_listening()
    api.drop("rst")
    wait_until(lambda: read().value("informerd_watch_errors_total", **one, reason="refused"),
               what="refused")
    wait_value(read, 3, "informerd_watch_state", **one)     # between two tries
    api.listen()
    wait_value(read, 0, "informerd_watch_state", **one)


def test_faults_are_counted_by_reason(api, scraped, factory, hook):
    cluster = {**factory.cluster(api), "stale_after": "100ms"}
    d, read = scraped(hooks={"h": hook}, clusters={"prod": cluster})
    d.settled(api)
    api.stop_listening()
    api.drop("rst")
    wait_value(read, 1, "informerd_faults", reason="stale")
    now = read()
    assert now.value("informerd_watch_stale", watch="services") == 1
    assert now.value("informerd_ready") == 1
    api.listen()
    wait_value(read, 0, "informerd_faults", reason="stale")


def test_a_reload_is_seen_and_makes_nothing_go_backwards(api, scraped, hook):
    api.apply(service("n/a"))
    d, read = scraped(hooks={"h": hook_settings(hook)})
    d.caught_up(api)
    before = read()
    good = d.config.read_text()
    d.config.write_text(good + "nonsense = 1;\n")
    assert d.ctl("reload").returncode == 78
    assert read().value("informerd_config_last_reload_successful") == 0
    d.config.write_text(good)
    d.settings["hooks"]["h"]["timeout"] = "7min"
    d.settings["hooks"]["other"] = hook_settings(hook)
    d.write_config()
    assert d.ctl("reload").returncode == 0
    after = read()
    assert after.value("informerd_config_last_reload_successful") == 1
    assert after.families["informerd_config_info"].samples.keys() \
        != before.families["informerd_config_info"].samples.keys()
    now = after.counters()
    for key, value in before.counters().items():
        assert now[key] >= value, key
    assert after.value("informerd_hook_runs_total", hook="other", result="ok") is not None


def test_a_replaced_hook_goes_on_counting_and_a_replaced_watch_begins_anew(api, scraped, hook):
    api.apply(service("n/a"))
    d, read = scraped(hooks={"h": hook_settings(hook)})
    d.caught_up(api)
    d.settings["hooks"]["h"]["umask"] = "0077"
    d.write_config()
    before = read()
    done = d.ctl_json("reload")
    assert [h["change"] for h in done["plan"]["hooks"]] == ["replace"]
    assert [w["change"] for w in done["plan"]["watches"]] == ["keep"]
    now = read().counters()
    for key, value in before.counters().items():
        assert now[key] >= value, key
    wait_value(read, 2, "informerd_hook_runs_total", hook="h", result="ok")
    d.settings["watches"]["services"]["keep"] = ["spec"]
    d.write_config()
    done = d.ctl_json("reload")
    assert [w["change"] for w in done["plan"]["watches"]] == ["replace"]
    relists = "informerd_watch_relists_total"
    assert read().value(relists, watch="services", reason="manual") is None
    d.caught_up(api)    # a list that is due already is not counted again
    assert d.ctl("relist", "services").returncode == 0
    wait_value(read, 1, relists, watch="services", reason="manual")
    d.settings["watches"]["services"]["keep"] = ["spec", "status"]
    d.write_config()
    assert d.ctl("reload").returncode == 0
    assert read().value(relists, watch="services", reason="manual") is None
    assert read().value("informerd_hook_runs_total", hook="h", result="ok") >= 2


def test_the_process_and_its_loop(scraped):
    d, read = scraped()
    now = read()
    assert now.value("process_resident_memory_bytes") > 1 << 20
    assert now.value("process_virtual_memory_bytes") > now.value("process_resident_memory_bytes")
    assert 5 < now.value("process_open_fds") < now.value("process_max_fds")
    assert now.value("process_start_time_seconds") == pytest.approx(time.time(), abs=3600)
    cpu = now.value("process_cpu_seconds_total")
    wait_until(lambda: read().value("process_cpu_seconds_total") > cpu, what="time passes")
    assert read().value("informerd_loop_lag_seconds_count") \
        > now.value("informerd_loop_lag_seconds_count")
    assert d.control.status()["pid"] == d.pid


def test_scrapes_in_quick_succession_get_one_text(scraped):
    """Over TCP the text is made ten times a second at most, so nobody can keep the loop busy. Each new
    text would have a greater number of turns of the loop."""
    d, read = scraped()
    probes = Probes(d)
    wait_until(lambda: probes.ask("/metrics")[2] == probes.ask("/metrics")[2], what="one text")
    old = probes.ask("/metrics")[2]
    wait_until(lambda: probes.ask("/metrics")[2] != old, what="another text")
    assert read().text != read().text       # the control socket makes each


@pytest.mark.skipif(not campaign.size(0, 1), reason="belongs to the long form")
def test_promtool_finds_nothing(api, scraped, hook):
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed (package prometheus)")
    _d, read = at_work(api, scraped, hook)
    done = subprocess.run(["promtool", "check", "metrics"], input=read().text, text=True,
                          capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
