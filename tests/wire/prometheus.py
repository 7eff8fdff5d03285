# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus (Debian's package prometheus) that scrapes one daemon and applies the alerts of
packaging/observability, with short intervals."""
import json
import re
import shutil
import subprocess

import observability
import yaml
from control import PATIENCE, wait_until
from probes import ask

INSTALLED = shutil.which("prometheus") is not None and shutil.which("promtool") is not None
INTERVAL = "500ms"      # a scrape may take as long, and one that takes longer counts as a target that is down


def quick_rules():
    """The text of the rules, with `for` of a second in the place of minutes."""
    rules = yaml.safe_load(observability.RULES.read_text())
    for group in rules["groups"]:
        for rule in group["rules"]:
            rule["for"] = "1s"
    return yaml.safe_dump(rules)


def promtool(*args):
    return subprocess.run(["promtool", *args], text=True, capture_output=True, timeout=PATIENCE)


class Prometheus:
    """with Prometheus(folder, "HOST:PORT") as p: scrapes that address."""

    def __init__(self, folder, target):
        self.folder = folder
        folder.mkdir()
        (folder / "quick.rules.yml").write_text(quick_rules())
        self.config = folder / "prometheus.yml"
        self.config.write_text(yaml.safe_dump({
            "global": {"scrape_interval": INTERVAL, "scrape_timeout": INTERVAL, "evaluation_interval": INTERVAL},
            "rule_files": ["quick.rules.yml"],
            "scrape_configs": [{"job_name": "informerd", "static_configs": [{"targets": [target]}]}]}))
        self.log = folder / "log"

    def __enter__(self):
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                ["prometheus", f"--config.file={self.config}", "--web.listen-address=127.0.0.1:0",
                 f"--storage.tsdb.path={self.folder}/data"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder)
        return self

    def __exit__(self, *_exc):
        self.process.kill()     # its data is not wanted
        self.process.wait()

    def address(self):
        """(host, port): where it answers."""
        def found():
            assert self.process.poll() is None, self.log.read_text()
            return re.search(r'msg="Listening on".* address=([\d.]+):(\d+)', self.log.read_text())
        host, port = wait_until(found, what="Prometheus listens").groups()
        return host, int(port)

    def answer(self, what):
        """The data of /api/v1/WHAT; None as long as Prometheus is not ready."""
        status, _headers, body = ask(self.address(), f"/api/v1/{what}")
        return json.loads(body)["data"] if status == 200 else None

    def rules(self):
        return [rule for group in (self.answer("rules") or {"groups": []})["groups"]
                for rule in group["rules"]]

    def alerts(self):
        """The alerts that fire or are pending, each as a dict."""
        return (self.answer("alerts") or {"alerts": []})["alerts"]

    def firing(self, name):
        return [alert for alert in self.alerts()
                if alert["labels"]["alertname"] == name and alert["state"] == "firing"]

    def wait_scraped(self):
        """Waits until Prometheus has got metrics of the daemon."""
        def up():
            targets = (self.answer("targets") or {"activeTargets": []})["activeTargets"]
            return targets and targets[0]["health"] == "up"
        wait_until(up, what="the daemon is scraped")

    def wait_evaluated(self):
        """Waits until Prometheus has evaluated each rule, and checks that none had an error."""
        def done():
            rules = self.rules()
            return rules and all(rule["health"] != "unknown" for rule in rules) and rules
        for rule in wait_until(done, what="each rule is evaluated"):
            assert rule["health"] == "ok", rule
