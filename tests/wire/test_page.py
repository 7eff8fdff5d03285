# SPDX-License-Identifier: Apache-2.0
"""The status page at metrics.listen: its answers over HTTP. test_page_browser.py has it in a browser."""
import http.client
import json
import re

import pytest
from control import PATIENCE, wait_until
from fakeapi import service
from fakeapi.certs import DAY
from harness import ONCE, ROOT, SERVICES, hook_settings
from probes import ANY_PORT, Probes, addresses

FILES = ["/page.css", "/page.js", "/page.svg"]


@pytest.fixture
def paged(api, daemon):
    """paged(...): (daemon, its probes), with the page on a free port."""
    def make(metrics=None, **more):
        d = daemon(api, metrics={"listen": [ANY_PORT], **(metrics or {})}, **more)
        return d, Probes(d)
    return make


def content(probes):
    status, headers, body = probes.ask("/page.json")
    assert (status, headers["Content-Type"]) == (200, "application/json")
    return json.loads(body)


def row(probes, table, name):
    return next(row for row in content(probes)[table] if row["name"] == name)


def test_the_page_has_what_the_status_has(api, paged, hook):
    api.apply(service("n/a"), service("n/b"))
    d, probes = paged(hooks={"h": hook_settings(hook)})
    hook.wait(2)
    d.settled(api)
    wait_until(lambda: content(probes)["level"] == "good", what="all is well")
    watch, status = row(probes, "watches", "services"), d.control.watch("services")
    assert (watch["objects"], watch["bytes"], watch["word"], watch["cluster"]) \
        == (2, status["bytes"], "watching", "prod")
    one = row(probes, "hooks", "h")
    assert (one["runs_ok"], one["word"], one["last"]["outcome"]) == (2, "idle", "ok")
    assert [server["in_use"] for server in content(probes)["servers"]] == [True]
    assert {one["type"] for one in content(probes)["credentials"]} >= {"ca"}
    html = probes.ask("/")[2]
    assert "<b>services</b>" in html and "<b>h</b>" in html and "All is well" in html


def test_the_headers_shut_everything_else_out(paged):
    _d, probes = paged()
    for target in ["/", "/page.json", *FILES]:
        status, headers, body = probes.ask(target)
        assert status == 200 and body
        rules = dict(rule.strip().split(" ", 1) for rule in headers["Content-Security-Policy"].split(";"))
        assert rules["default-src"] == rules["frame-ancestors"] == rules["form-action"] == "'none'"
        assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cache-Control"] == "no-store"
        head_status, head, nothing = probes.ask(target, "HEAD")
        assert (head_status, nothing) == (200, "") and head["Content-Type"] == headers["Content-Type"]


def test_nothing_in_the_page_comes_from_elsewhere(paged):
    _d, probes = paged()
    html = probes.ask("/")[2]
    links = re.findall(r'(?:href|src)="([^"]*)"', html)
    assert sorted("/" + link for link in links) == FILES
    assert "style=" not in html and "<script>" not in html and "onclick" not in html
    for target in FILES:
        text = probes.ask(target)[2].replace("http://www.w3.org/2000/svg", "")
        assert "://" not in text and text == (ROOT / "daemon/page" / target[1:]).read_text().replace(
            "http://www.w3.org/2000/svg", "")
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert word not in probes.ask("/page.js")[2]


def test_other_paths_and_methods_are_refused(paged):
    _d, probes = paged()
    for target in ("/page", "/page.html", "/index.html", "/page.json/x", "//", "/%70age.json", "/page%2ejson",
                   "/favicon.ico"):
        assert probes.ask(target)[0] == 404, target
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        for target in ("/", "/page.json"):
            assert probes.ask(target, method)[0] == 405


def test_a_site_whose_name_has_our_address_gets_nothing(paged):
    """DNS rebinding: the browser sends the name of the site as Host."""
    d, _probes = paged(node_name="node-1")

    def status(target, host):
        conn = http.client.HTTPConnection(*addresses(d)[0], timeout=PATIENCE)
        conn.request("GET", target, headers={"Host": host})
        response = conn.getresponse()
        conn.close()
        return response.status

    for target in ("/", "/page.json", "/page.json?x", "/page.js"):
        for host in ("127.0.0.1:9916", "localhost", "NODE-1:80", "[::1]:9916"):
            assert status(target, host) == 200, host
        for host in ("attacker.test", "attacker.test:9916", "127.0.0.1.attacker.test"):
            assert status(target, host) == 403, host
    assert status("/page%2ejson", "attacker.test") == 404
    assert status("/metrics", "node-1.example.net:9916") == 200
    assert status("/livez", "node-1.example.net:9916") == 200


def test_objects_are_named_only_if_the_setting_allows_it(api, paged, factory):
    api.apply(service("n/a" + "x" * 300))
    d, probes = paged()
    wait_until(lambda: content(probes)["problem_count"] == 1, what="an object is skipped")
    assert row(probes, "watches", "services")["skipped"] == 1
    for target in ("/", "/page.json"):
        assert "xxx" not in probes.ask(target)[2]
    d.settings["metrics"]["page_keys"] = True
    d.write_config()
    assert d.ctl("reload").returncode == 0
    for target in ("/", "/page.json"):
        assert "xxx" in probes.ask(target)[2]


def test_the_error_of_an_output_names_no_object(api, paged, hook, factory):
    folder = factory.new_folder("out")
    api.apply(service("n/hush"))
    settings = hook_settings(hook, output=str(folder / "none/${namespace}-${name}"), retry=ONCE)
    d, probes = paged(hooks={"h": settings})
    wait_until(lambda: row(probes, "hooks", "h")["error"], what="the file cannot be written")
    assert "hush" in d.control.hook("h")["last_error"]
    assert row(probes, "hooks", "h")["error"] == "output: folder: No such file or directory"
    for target in ("/", "/page.json"):
        assert "hush" not in probes.ask(target)[2] and str(folder) not in probes.ask(target)[2]


def test_a_refusal_of_the_server_names_no_configured_object(api, paged):
    api.on_list("services", times=None).fail(403, "Forbidden", 'services "hush" is forbidden')
    watch = {"resource": "services", "namespaces": ["n"], "names": ["hush"]}
    d, probes = paged(watches={"services": watch})
    wait_until(lambda: content(probes)["problem_count"] > 0, what="forbidden")
    for target in ("/", "/page.json", "/healthz"):
        assert "hush" not in probes.ask(target)[2], target
    assert "hush" in d.control.watch("services")["last_error"]


def test_files_of_credentials_lose_their_folders(api, paged, factory, authority):
    client = authority.leaf("system:node:n", client=True, begin=-300 * DAY, end=-DAY)
    cluster = factory.cluster(api, client=client, client_files=True)
    d, probes = paged(clusters={"prod": cluster})
    wait_until(lambda: content(probes)["problem_count"] > 0, what="the certificate has expired")
    assert [one["word"] for one in content(probes)["credentials"] if one["type"] == "certificate"] \
        == ["expired"]
    body = probes.ask("/page.json")[2]
    assert ".../" + client.cert_file.name in body and str(client.cert_file) not in body
    assert any(str(client.cert_file) in fault for fault in d.control.status()["degraded"])


def test_one_answer_serves_questions_in_quick_succession(paged):
    """Else anybody could keep the loop busy. Each new answer has another at_ms."""
    _d, probes = paged()
    wait_until(lambda: probes.ask("/page.json?a")[2] == probes.ask("/page.json?b")[2], what="one answer")
    old = content(probes)["at_ms"]
    wait_until(lambda: content(probes)["at_ms"] > old, what="another answer")


def test_the_control_socket_has_the_page_too(paged):
    d, _probes = paged()
    for target in ("/", "/page.json", *FILES):
        assert d.control.ask(target)[0] == 200


def test_the_page_has_the_views(api, paged):
    api.apply(service("n/a"), service("n/b"))
    d, probes = paged(watches={"services": SERVICES["services"],
                               "slices": {"resource": "endpointslices", "namespaces": ["*"]}},
                      views={"backends": {"type": "service_endpoints", "services": "services", "slices": "slices"}})
    d.settled(api)
    assert row(probes, "views", "backends") == {"name": "backends", "cluster": "prod", "objects": 2, "synced": True,
                                                "stale": False, "incomplete": False}
    assert "<b>backends</b>" in probes.ask("/")[2]
