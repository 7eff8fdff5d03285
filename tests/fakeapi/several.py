# SPDX-License-Identifier: Apache-2.0
"""Several API servers of one cluster: the calls of one FakeApi that tests use, for all of them."""
from .asked import Asked


class Several:
    """FakeApis that serve one store (FakeApi(store=...)). Requests are those of all servers, in the
    order in which they came."""

    identity_gate = None

    def __init__(self, apis):
        self.apis = list(apis)
        self.store = self.apis[0].store

    def __iter__(self):
        return iter(self.apis)

    def __len__(self):
        return len(self.apis)

    def at(self, url):
        """The server with this URL."""
        return next(api for api in self.apis if api.url == url)

    def others(self, api):
        return [other for other in self.apis if other is not api]

    @property
    def urls(self):
        return [api.url for api in self.apis]

    @property
    def rv(self):
        return self.store.rv

    @property
    def watchers(self):
        return [watcher for api in self.apis for watcher in list(api.watchers)]

    @property
    def requests(self):
        return sorted((r for api in self.apis for r in list(api.requests)), key=lambda r: r.time)

    @property
    def identity_requests(self):
        return [r for api in self.apis for r in list(api.identity_requests)]

    def apply(self, *objects):
        return self.apis[0].apply(*objects)

    def delete(self, plural, key):
        return self.apis[0].delete(plural, key)

    def bookmark(self):
        for api in self.apis:
            api.bookmark()

    def watching(self, plural):
        return sum(api.watching(plural) for api in self.apis)

    def forget(self):
        """From now on only later requests count. To be called while no client sends any."""
        for api in self.apis:
            api.forget()

    def sequence(self, resource):
        """As FakeApi.sequence(), without requests that a server did not answer with 200."""
        def read():
            return [f"{'C' if r.token else r.kind}({r.token or r.rv or '-'})" for r in self.requests
                    if r.kind in "LWS" and r.resource == resource and r.status == 200]
        return Asked(read)

    def lists(self):
        """The LISTs, probes included, whatever came of them."""
        return [r for r in self.requests if r.kind == "L"]
