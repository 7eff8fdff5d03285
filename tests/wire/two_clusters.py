# SPDX-License-Identifier: Apache-2.0
"""A daemon with a cluster in trouble and a healthy one, and the rules that must hold in any trouble."""
from fakeapi import service, simple
from harness import SERVICES, hook_settings

BACKOFF = {"backoff": {"initial": "10ms", "factor": 1.5, "max": "60ms", "jitter": 0.2}}


class Scene:
    """Two clusters: zeus, with watch wombat, is in trouble; hera, with watch calm, is healthy."""

    def __init__(self, factory, new_api, api):
        self.factory, self.api, self.good = factory, api, new_api()
        self.hook, self.fine = factory.hook(), factory.hook()
        self.daemon = None

    def start(self, cluster=None, hooks=None, **settings):
        hooks = hooks or {"hydra": hook_settings(self.hook, sources=["wombat"])}
        clusters = {"zeus": cluster or self.factory.cluster(self.api, BACKOFF),
                    "hera": self.factory.cluster(self.good)}
        watches = {"wombat": {**SERVICES["services"], "cluster": "zeus"},
                   "calm": {"resource": "configmaps", "namespaces": ["*"], "cluster": "hera"}}
        hooks = {**hooks, "fine": hook_settings(self.fine, sources=["calm"])}
        self.daemon = self.factory.daemon(clusters=clusters, watches=watches, hooks=hooks,
                                          **settings)
        return self.daemon

    def others_work(self):
        """Checks that the healthy watch and its hook still follow their cluster."""
        count = len(self.fine.runs())
        self.good.apply(simple("ConfigMap", f"n/c{count}", data={}))
        self.fine.wait_what("ADDED", f"n/c{count}")
        assert self.daemon.running()

    def heals(self):
        """Checks that the watch syncs without a restart once the trouble is over."""
        self.api.apply(service("n/healed"))
        self.hook.wait_what("ADDED", "n/healed")


def one_line(daemon, *words):
    """Checks that the trouble has one log line, which names the watch and its cluster: repeats are
    not logged."""
    line = daemon.wait_problem("wombat", "zeus", *words)
    same = [e for e in daemon.problems() if e["msg"] == line["msg"]
            and e.get("watch") == line.get("watch") and e.get("err") == line.get("err")]
    assert len(same) == 1, same
    return line
