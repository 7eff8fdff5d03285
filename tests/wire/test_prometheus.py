# SPDX-License-Identifier: Apache-2.0
"""Rules and dashboard of packaging/observability with the real Prometheus and promtool, which
`./dev test --long` installs."""
import campaign
import observability
import pytest
import yaml
from control import wait_until
from probes import ANY_PORT, addresses
from prometheus import INSTALLED, Prometheus, promtool

pytestmark = [
    pytest.mark.skipif(not campaign.size(0, 1), reason="belongs to the long form"),
    pytest.mark.skipif(not INSTALLED, reason="needs prometheus and promtool (package prometheus)")]


def test_the_rules_pass_their_tests():
    done = promtool("test", "rules", str(observability.TESTS))
    assert done.returncode == 0 and "SUCCESS" in done.stdout, done.stdout + done.stderr


def test_prometheus_can_read_every_expression(tmp_path):
    """The expressions of the dashboard as recording rules, as promtool reads rules."""
    rules = [{"record": f"n{number}", "expr": e.text}
             for number, e in enumerate(observability.expressions())]
    path = tmp_path / "rules.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "all", "rules": rules}]}))
    for checked in (path, observability.RULES):
        done = promtool("check", "rules", str(checked))
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_alert_for_a_stale_watch_fires_and_ends(api, factory, hook, tmp_path):
    cluster = {**factory.cluster(api), "stale_after": "100ms"}
    d = factory.daemon(hooks={"h": hook}, clusters={"prod": cluster},
                       metrics={"listen": [ANY_PORT]}).settled(api)
    [(host, port)] = addresses(d)
    with Prometheus(tmp_path / "prometheus", f"{host}:{port}") as prometheus:
        prometheus.wait_scraped()
        prometheus.wait_evaluated()
        wait_until(lambda: prometheus.alerts() == [], what="no alert, not even a pending one")
        api.stop_listening()
        api.drop("rst")
        [alert] = wait_until(lambda: prometheus.firing("InformerdWatchStale"), what="an alert")
        assert alert["labels"] == {
            "alertname": "InformerdWatchStale", "severity": "page", "cluster": "prod", "watch": "services",
            "job": "informerd", "instance": f"{host}:{port}"}
        assert alert["annotations"]["summary"] == f"watch services on {host}:{port} is stale"
        api.listen()
        wait_until(lambda: (api.bookmark(), not prometheus.firing("InformerdWatchStale"))[1],
                   what="the alert ends")
        prometheus.wait_evaluated()


def test_the_alert_for_a_daemon_that_is_gone_fires(api, daemon, tmp_path):
    d = daemon(api, metrics={"listen": [ANY_PORT]}).settled(api)
    [(host, port)] = addresses(d)
    with Prometheus(tmp_path / "prometheus", f"{host}:{port}") as prometheus:
        prometheus.wait_scraped()
        prometheus.wait_evaluated()
        wait_until(lambda: prometheus.alerts() == [], what="no alert, not even a pending one")
        d.stop()
        [alert] = wait_until(lambda: prometheus.firing("InformerdDown"), what="an alert")
        assert alert["labels"]["instance"] == f"{host}:{port}"
