# SPDX-License-Identifier: Apache-2.0
"""Asks a daemon as a machine does that only looks: over TCP, at an address of metrics.listen."""
import http.client
import json
import re

from patience import PATIENCE

ANY_PORT = "127.0.0.1:0"


def addresses(d):
    """[(host, port), ...]: where the daemon listens, or has listened, in the order of the log."""
    texts = [entry["address"] for entry in d.log(msg="listening for metrics")]
    return [(host.strip("[]"), int(port)) for host, port in
            (re.fullmatch(r"(.*):(\d+)", text).groups() for text in texts)]


def ask(address, target, method="GET"):
    """(status, headers, body as text) of one request on a connection of its own."""
    conn = http.client.HTTPConnection(*address, timeout=PATIENCE)
    try:
        conn.request(method, target)
        response = conn.getresponse()
        return response.status, response.headers, response.read().decode()
    finally:
        conn.close()


class Probes:
    """The answers of a daemon at its newest address."""

    def __init__(self, d):
        self.d = d

    def ask(self, target, method="GET"):
        return ask(addresses(self.d)[-1], target, method)

    def status(self, target):
        return self.ask(target)[0]

    def reasons(self, target="/healthz"):
        """The words of the reasons; [] if all is well."""
        status, _headers, body = self.ask(target + "?format=json")
        answer = json.loads(body)
        assert answer["ok"] == (status == 200) == (answer["reasons"] == []), body
        return [reason["reason"] for reason in answer["reasons"]]
