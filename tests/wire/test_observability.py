# SPDX-License-Identifier: Apache-2.0
"""packaging/observability: rules and dashboard use only metrics that informerd exports, and the runbook
knows every alert."""
import collections
import re

import observability
import promql
import pytest
import yaml
from exposition import Metrics
from harness import ROOT, hook_settings

# Metrics that are not informerd's, with the labels that rules may use.
OTHERS = {"up": set(), "node_textfile_mtime_seconds": {"file"}}
KNOWN = {**promql.documented(), **OTHERS}
ALERTS = observability.alerts()
each_alert = pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert["alert"])


@pytest.mark.parametrize("expression", observability.expressions(), ids=lambda e: e.where)
def test_an_expression_uses_metrics_and_labels_that_exist(expression):
    assert promql.problems(expression.text, KNOWN) == []


@pytest.mark.parametrize("expr, problem", [
    ("informerd_watch_stael == 1", "no metric: informerd_watch_stael"),
    ('up == 0 and informerd_ready{watch="w"} == 0', "informerd_ready has no label watch"),
    ("sum by (hook) (rate(informerd_watch_events_total[5m]))", "no label hook"),
    ("rate(informerd_loop_lag_seconds[5m])", "no metric: informerd_loop_lag_seconds"),
    ('informerd_loop_lag_seconds_sum{le="1"}', "informerd_loop_lag_seconds_sum has no label le"),
    ("vector(0)", "no metric at all")])
def test_a_metric_or_label_that_does_not_exist_is_noticed(expr, problem):
    assert promql.problems(expr, KNOWN) == [problem]


def test_the_variables_of_the_dashboard_come_from_what_exists():
    for metric, label in observability.variable_queries():
        assert label in KNOWN[metric] | promql.OF_THE_SCRAPE


def test_values_in_matchers_are_those_that_informerd_exports(api, daemon, hook):
    d = daemon(api, hooks={"h": hook_settings(hook)}).settled(api)
    exported = collections.defaultdict(set)
    for family in Metrics(d.control.ask("/metrics")[2].decode()).families.values():
        for name, labels in family.samples:
            for label, value in labels:
                exported[name, label].add(value)
    for expression in observability.expressions():
        for name, matchers in promql.uses(expression.text).metrics.items():
            for label, operator, value in matchers:
                if name in OTHERS or label in promql.OF_THE_SCRAPE:
                    continue
                words = value.split("|") if label == "reason" else [value]
                for word in words:
                    assert any(re.fullmatch(word, has) if "~" in operator else word == has
                               for has in exported[name, label]), (expression.where, label, word)


@each_alert
def test_an_alert_says_how_bad_it_is_and_what_it_means(alert):
    assert alert["labels"] in ({"severity": "page"}, {"severity": "ticket"})
    assert re.fullmatch(r"\d+[mh]", alert["for"])
    assert set(alert["annotations"]) == {"summary", "description", "runbook"}
    assert alert["annotations"]["runbook"] \
        == f'/usr/share/doc/informerd/docs/runbook.md#{alert["alert"].lower()}'
    for text in alert["annotations"].values():
        named = set(re.findall(r"\$labels\.(\w+)", text))
        assert named <= promql.labels_of(alert["expr"], KNOWN), text


def test_the_runbook_has_an_entry_for_each_alert_and_no_other():
    text = (ROOT / "docs/runbook.md").read_text()
    section = text[text.index("\n## Alerts\n"):]
    entries = re.findall(r"^### (\w+)\n\n(Page|Ticket)\. ", section, re.M)
    assert entries == [(alert["alert"], alert["labels"]["severity"].capitalize()) for alert in ALERTS]


def test_each_alert_has_a_test_in_which_it_fires_and_ends():
    """promtool runs informerd.rules.test.yml in the long form; this test looks that it leaves no alert
    out."""
    tested = {}
    for test in yaml.safe_load(observability.TESTS.read_text())["tests"]:
        checks = test.get("promql_expr_test", [])
        fires = [bool(check.get("exp_samples")) for check in checks]
        if fires.count(True) and not fires[0] and not fires[-1]:
            named = checks[fires.index(True)]["exp_samples"][0]["labels"]
            tested.setdefault(re.search(r'alertname="(\w+)"', named)[1], test["name"])
    assert sorted(tested) == sorted(alert["alert"] for alert in ALERTS)


def cells(panel):
    pos = panel["gridPos"]
    return {(x, y) for x in range(pos["x"], pos["x"] + pos["w"])
            for y in range(pos["y"], pos["y"] + pos["h"])}


def test_panels_have_ids_of_their_own_and_do_not_overlap():
    panels = observability.panels()
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken = collections.Counter(cell for panel in panels for cell in cells(panel))
    assert max(taken.values()) == 1 and max(x for x, _y in taken) == 23
    for panel in panels:
        assert panel["title"] and panel["description"].endswith("."), panel["id"]
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}, panel["id"]


def test_legends_name_labels_that_the_series_have():
    for panel in observability.panels():
        for target in panel["targets"]:
            expr = observability.plain(target["expr"])
            kept = promql.uses(expr).grouping or promql.labels_of(expr, KNOWN)
            named = set(re.findall(r"\{\{(\w+)\}\}", target.get("legendFormat", "")))
            assert named <= kept - {"le"}, (panel["id"], target["refId"])
