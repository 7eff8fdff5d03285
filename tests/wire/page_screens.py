# SPDX-License-Identifier: Apache-2.0
"""Makes docs/screens/page-*.png: the status page of the real daemon in a headless Chromium, in the
situations of SHOTS. `./dev page --screens` calls it."""
import contextlib
import os
import pathlib
import random
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from browser import Browser  # noqa: E402
from control import wait_until  # noqa: E402
from fakeapi import service  # noqa: E402
from fakeapi.certs import DAY  # noqa: E402
from harness import ONCE, ROOT, hook_settings  # noqa: E402
from probes import ANY_PORT, addresses  # noqa: E402

FOLDER = ROOT / "docs" / "screens"
SHOP = ["api", "cart", "mail", "pay", "search", "stock", "web"]
EVERYWHERE = {"resource": "services", "namespaces": ["*"]}


class Set:
    """The scene: a server, a daemon, and its page in a browser."""

    def __init__(self, factory, new_api, authority, browser):
        self.factory, self.authority, self.browser = factory, authority, browser
        self.api = new_api()
        self.random = random.Random(17)

    def daemon(self, cluster=None, credentials=None, **settings):
        clusters = {"prod": {**self.factory.cluster(self.api, **(credentials or {})), **(cluster or {})}}
        self.d = self.factory.daemon(clusters=clusters, metrics={"listen": [ANY_PORT]},
                                     node_name="node-1.example.net", **settings)
        return self.d

    def open(self):
        host, port = addresses(self.d)[-1]
        self.browser.look()
        self.browser.open(f"http://{host}:{port}/")
        self.browser.wait("document.querySelector('.live')?.textContent === 'live'", "live")

    def change(self, spaces, seconds):
        """Changes of objects, now more, now fewer, so that there are lines to see."""
        for step in range(seconds):
            for space in spaces:
                # Each namespace has a rhythm of its own.
                if (step // (2 + spaces.index(space) % 7)) % 3 == 0:
                    self.api.apply(*[service(f"{space}/{name}", ports=[self.random.randrange(1, 60000)])
                                     for name in self.random.sample(SHOP, self.random.randrange(1, 5))])
            at = self.browser.js("performance.getEntriesByType('resource').length")
            self.browser.wait(f"performance.getEntriesByType('resource').length > {at}", interval=0.05)
            self.browser.js("performance.clearResourceTimings()")


def healthy(scene, seconds=45):
    for space in ("shop", "billing", "ops"):
        scene.api.apply(*[service(f"{space}/{name}") for name in SHOP])
    hooks = [scene.factory.hook() for _ in range(3)]
    scene.daemon(
        watches={"services": EVERYWHERE, **{space: {"resource": "services", "namespaces": [space]}
                                            for space in ("shop", "billing", "ops")},
                 "slices": {"resource": "endpointslices", "namespaces": ["*"]}},
        views={"backends": {"type": "service_endpoints", "services": "services", "slices": "slices"}},
        hooks={"haproxy": hook_settings(hooks[0], sources=["backends"], mode="snapshot"),
               "dns": hook_settings(hooks[1], sources=["shop"]),
               "firewall": hook_settings(hooks[2], sources=["billing"], mode="batch")})
    scene.d.settled(scene.api)
    scene.open()
    scene.change(["shop", "billing", "ops"], seconds)
    scene.browser.wait("document.querySelector('.verdict').classList.contains('good')", "well")


def no_answer(scene):
    healthy(scene, seconds=8)
    scene.d.stop()
    scene.browser.wait("document.querySelector('main').classList.contains('frozen')", "old")


def degraded(scene):
    client = scene.authority.leaf("system:node:node-1", client=True, begin=-300 * DAY, end=DAY // 3)
    for space in ("shop", "billing"):
        scene.api.apply(*[service(f"{space}/{name}") for name in SHOP + [f"job-{n}" for n in range(30)]])
    scene.api.apply(service("shop/" + "x" * 300))
    good, bad = scene.factory.hook(), scene.factory.hook()
    bad.exit_with(3)
    scene.api.on_list("secrets", times=None).fail(
        403, "Forbidden", 'secrets is forbidden: User "system:node:node-1" cannot list resource "secrets"')
    scene.daemon(
        credentials={"client": client, "client_files": True},
        watches={"shop": {"resource": "services", "namespaces": ["shop"]},
                 "billing": {"resource": "services", "namespaces": ["billing"], "guard": {"hold": "1h"}},
                 "tls": {"resource": "secrets", "namespaces": ["*"]},
                 "nodes": {"resource": "nodes"}},
        hooks={"dns": hook_settings(good, sources=["shop"]),
               "haproxy": hook_settings(bad, sources=["billing"], mode="batch", retry=ONCE)},
        limits={"pending": "2s"})
    good.wait(len(SHOP))
    bad.wait(1)
    scene.open()
    scene.change(["shop"], 15)
    backup = scene.api.snapshot()
    table = next(key for key in backup[1] if key[2] == "services")
    backup[1][table] = {key: o for key, o in backup[1][table].items() if not key.startswith("billing/job")}
    scene.api.restore((backup[0] + 5, backup[1]))
    scene.api.compact()
    scene.d.ctl("relist", "billing")
    scene.d.control.wait_watch("billing", held=True)
    scene.d.config.write_text(scene.d.config.read_text() + "nonsense = 1;\n")
    assert scene.d.ctl("reload").returncode == 78
    wait_until(lambda: scene.browser.js("document.querySelectorAll('.problems li').length") >= 5,
               what="all problems show")
    scene.change(["shop"], 5)


def many(scene):
    spaces = [f"team-{n:03}" for n in range(1, 201)]
    for space in spaces:
        scene.api.apply(*[service(f"{space}/{name}") for name in SHOP[:1 + int(space[-2:]) % 6]])
    hook = scene.factory.hook()
    scene.api.on_list("services", times=None, where=lambda request: "/team-117/" in request.path).fail(
        500, "InternalError", "etcdserver: request timed out")
    scene.daemon(watches={f"services-{space}": {"resource": "services", "namespaces": [space]}
                          for space in spaces},
                 hooks={"haproxy": hook_settings(hook, sources=["services-team-001"])})
    wait_until(lambda: sum(w["synced"] for w in scene.d.control.status()["watches"].values()) == 199,
               what="all but one are synced")
    scene.open()
    scene.change(spaces[::3], 15)


# The name of the picture, its situation, and how the window is.
SHOTS = [
    ("page-healthy", healthy, {}), ("page-healthy-dark", healthy, {"dark": True}),
    ("page-no-answer", no_answer, {"height": 500}),
    ("page-degraded", degraded, {}), ("page-degraded-dark", degraded, {"dark": True}),
    ("page-degraded-phone", degraded, {"width": 390, "height": 1400, "mobile": True}),
    ("page-200-watches", many, {}), ("page-200-watches-dark", many, {"dark": True}),
]


def write(names):
    from fakeapi import Authority, servers
    from shared_fixtures import checked_factory

    for play in dict.fromkeys(play for name, play, _look in SHOTS if not names or name in names):
        with tempfile.TemporaryDirectory(prefix="page-") as folder:
            folder = pathlib.Path(folder)
            folder.chmod(0o755)
            (folder / "ca").mkdir()
            (folder / "made").mkdir()
            authority, browser = Authority(folder / "ca"), Browser()
            with servers(authority.server()) as new_api, contextlib.closing(browser), \
                    contextlib.redirect_stdout(sys.stderr if os.environ.get("VERBOSE") else None), \
                    checked_factory(folder / "made", authority) as factory:
                scene = Set(factory, new_api, authority, browser)
                play(scene)
                for name, _play, look in [shot for shot in SHOTS if shot[1] is play]:
                    browser.look(**look)
                    # Two frames later it is laid out, and shown, with this window.
                    browser.js("new Promise((done) => requestAnimationFrame("
                               "() => requestAnimationFrame(done)))")
                    browser.shoot(FOLDER / f"{name}.png")
                browser.look()
                said = [text for text in browser.complaints() if "ERR_CONNECTION_REFUSED" not in text]
                assert said == [], said


if __name__ == "__main__":
    if "--write" not in sys.argv:
        sys.exit("usage: page_screens.py --write [PICTURE...]")
    write([word for word in sys.argv[1:] if word != "--write"])
