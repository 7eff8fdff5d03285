# SPDX-License-Identifier: Apache-2.0
"""The files of packaging/observability."""
import collections
import json
import re

import yaml
from harness import ROOT

FOLDER = ROOT / "packaging" / "observability"
RULES = FOLDER / "informerd.rules.yml"
TESTS = FOLDER / "informerd.rules.test.yml"
DASHBOARD = FOLDER / "informerd.dashboard.json"
# The values that Grafana puts in the place of its variables; any duration is as good.
VARIABLES = {"$__rate_interval": "1m", "$instance": ".*"}

# where: words for a failure
Expression = collections.namedtuple("Expression", "where text")


def alerts():
    """The rules, each as a dict."""
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def panels():
    """The panels of the dashboard but for the titles of its rows."""
    return [panel for panel in json.loads(DASHBOARD.read_text())["panels"] if panel["type"] != "row"]


def variable_queries():
    """[(metric, label), ...]: where the dashboard has the values of its variables from."""
    variables = json.loads(DASHBOARD.read_text())["templating"]["list"]
    return [re.fullmatch(r"label_values\((\w+), (\w+)\)", v["query"]["query"]).groups()
            for v in variables if v["type"] == "query"]


def plain(text):
    """An expression of the dashboard with values in the place of variables."""
    for name, value in VARIABLES.items():
        text = text.replace(name, value)
    assert "$" not in text, text
    return text


def expressions():
    """Every expression of the rules and of the dashboard."""
    return [Expression(rule["alert"], rule["expr"]) for rule in alerts()] \
        + [Expression(f'panel {panel["id"]} {target["refId"]}', plain(target["expr"]))
           for panel in panels() for target in panel["targets"]]
