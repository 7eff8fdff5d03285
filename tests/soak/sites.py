# SPDX-License-Identifier: Apache-2.0
"""The clusters of the soak: each one's API server and its credentials, and how these rotate.

A rotation is a list of steps with pauses between them: files are replaced in one go, or written in two
halves, or one after the other, and the server trusts the new credentials before or after the daemon has
them. Steps of several rotations mix. A step writes the credentials that are newest at its time, so the last
step of all leaves everything as it should be.
"""
import itertools

from credential_files import KubeletPki, Volume, put
from fakeapi import Authority, FakeApi

LONGEST_STEP_S = 1.0
GRACES_S = (0, 0.3, 1.5)    # how long a server takes the old credentials
UNTOUCHED_S = 2.0           # a watch is not ended before: after a very short one a LIST is right
CN = "system:node:node-1"


class Trust:
    """The CAs of an API server, all of one name: one after the other signs its certificate."""

    def __init__(self, folder, api, options):
        self.folder, self.api, self.options = folder, api, options
        self.count = self.serving = 0   # the numbers of the newest CA and of that in use
        self.bundle = []
        self.add()
        self.serve()

    def add(self):
        self.count += 1
        self.bundle.append(Authority(self.folder, "kubernetes"))

    def drop_old(self):
        del self.bundle[:-1]

    def serve(self):
        if self.count > self.serving:
            self.serving = self.count
            self.api.set_tls(self.bundle[-1].server(), **self.options)

    @property
    def pem(self):
        return b"".join(authority.pem for authority in self.bundle)


class Site:
    """One cluster. name: its name; kinds: what can rotate. If there are tokens, the server lets these in;
    else it lets in the names in the client certificates. A rotation takes the former token or name away; any
    certificate of the right CA is good for a handshake."""

    def __init__(self, folder, store, rng):
        self.folder, self.rng = folder / self.name, rng
        self.folder.mkdir(mode=0o755)
        self.clients = Authority(folder / f"{self.name}-clients", "clients")
        self.tokens, self.names = itertools.count(1), itertools.count(1)
        self.token = self.leaf = None
        self.api = FakeApi(store=store)
        self.api.identity = f"5eed0000-0000-4000-8000-{len(store.listeners):012}"
        options = {"client_ca": self.clients, "client_required": True}
        self.trust = Trust(folder / f"{self.name}-cas", self.api,
                           options if "pair" in self.kinds else {})
        if "token" in self.kinds:
            self.api.tokens = set()
            self.new_token()
        elif "pair" in self.kinds:
            self.api.client_cns = set()
        if "pair" in self.kinds:
            self.new_pair()
        self.lay()

    # The newest credentials

    def new_token(self):
        self.token = f"token-{self.name}-{next(self.tokens)}"
        self.api.tokens.add(self.token)

    def new_pair(self):
        self.cn = f"{CN}-{next(self.names)}"
        self.leaf = self.clients.client(self.cn)
        if self.api.client_cns is not None:
            self.api.client_cns.add(self.cn)

    # Rotations: [(pause before the step, step), ...]

    def rotation(self, kind):
        return getattr(self, f"rotate_{kind}")()

    def pause(self):
        return self.rng.uniform(0, LONGEST_STEP_S) if self.rng.random() < 0.5 else 0

    def replace(self, known, old, write):
        """The steps from the old credential to the new one: the server revokes the old one before
        the file is replaced, or some time later."""
        def revoke():
            known.discard(old)
        if self.rng.random() < 0.2:
            return [(0, revoke), *delayed(write, self.pause())]
        return [*write, (self.rng.choice(GRACES_S), revoke)]

    def rotate_token(self):
        old = self.token
        self.new_token()
        return self.replace(self.api.tokens, old, self.write_token())

    def rotate_pair(self):
        old = self.cn
        self.new_pair()
        if self.api.client_cns is None:
            return self.write_pair()
        return self.replace(self.api.client_cns, old, self.write_pair())

    def rotate_ca(self):
        """With a bundle of the old and the new CA in between, or without it: then the server or the
        file is first."""
        trust = self.trust
        how = self.rng.choice(["bridged", "bridged", "server first", "file first"])
        if how == "bridged":
            return [(0, trust.add), *self.write_ca(), (self.pause(), trust.serve),
                    (self.pause(), trust.drop_old), *self.write_ca()]
        new = [(0, trust.add), (0, trust.drop_old)]
        if how == "server first":
            return [*new, (0, trust.serve), *delayed(self.write_ca(), self.pause())]
        return [*new, *self.write_ca(), (self.pause(), trust.serve)]

    # The ways in which an administrator writes a file

    def rewrite(self, path, data):
        """The steps that write data() into this file."""
        def in_one():
            put(path, data())

        def unlinked():
            path.unlink(missing_ok=True)

        def begun():
            text = data()
            path.write_bytes(text[:self.rng.randrange(len(text))])

        def done():
            path.write_bytes(data())
        return self.rng.choice([
            [(0, in_one)], [(0, unlinked), (self.pause(), in_one)],
            [(0, begun), (self.pause(), done)]])

    # The credentials that watches use

    def watchers(self):
        return list(self.api.watchers)

    def is_renewed(self, watcher):
        """Whether the connection of this watch has the newest certificates of both sides."""
        conn = watcher.exchange.conn
        fits = self.leaf is None or conn.client_serial == self.leaf.serial
        return fits and conn.tls.context is self.api.context

    def has_newest_token(self):
        """Whether the watch with events was asked for with the newest token."""
        return any(w.exchange.request.header("authorization") == f"Bearer {self.token}"
                   for w in self.watchers() if w.table.resource.plural == "configmaps")

    def cut_one(self, now):
        """Ends a watch that has been open for a while, as time or a network does. Returns whether
        there was one."""
        found = [w for w in self.watchers() if now - w.exchange.request.time > UNTOUCHED_S]
        if found:
            watcher, how = self.rng.choice(found), self.rng.choice(["END", "rst"])
            self.api.call(watcher.finish, how)
        return bool(found)


def delayed(steps, pause):
    (first, step), *rest = steps
    return [(first + pause, step), *rest]


class Node(Site):
    """A kubelet: certificate and key are in one file behind a link, and the CA in a file."""
    name, kinds = "node", ("pair", "ca")

    def lay(self):
        self.pki = KubeletPki(self.folder / "pki", self.leaf)
        self.ca = put(self.folder / "ca.crt", self.trust.pem)
        self.settings = {"client_cert_file": self.pki.current, "client_key_file": self.pki.current,
                         "ca_file": self.ca}

    def write_pair(self):
        return [(0, lambda: self.pki.write(self.leaf))]

    def write_ca(self):
        return self.rewrite(self.ca, lambda: self.trust.pem)


class Pod(Site):
    """A service account: token and CA are in a projected volume, which is swapped as a whole."""
    name, kinds = "pod", ("token", "ca")

    def lay(self):
        self.volume = Volume(self.folder / "volume", **self._files())
        self.settings = {"token_file": self.volume.path / "token",
                         "ca_file": self.volume.path / "ca"}

    def _files(self):
        return {"token": self.token, "ca": self.trust.pem}

    def write_token(self):
        return [(0, lambda: self.volume.write(**self._files()))]

    write_ca = write_token


class Admin(Site):
    """Files of an administrator: each is replaced in every way there is."""
    name, kinds = "admin", ("token", "pair", "ca")
    ITEMS = {"ca": "ca_file", "cert": "client_cert_file", "key": "client_key_file",
             "token": "token_file"}

    def lay(self):
        self.settings = {setting: put(self.folder / item, self._newest(item))
                         for item, setting in self.ITEMS.items()}

    def _newest(self, item):
        if item == "ca":
            return self.trust.pem
        return self.token.encode() if item == "token" else getattr(self.leaf, item)

    def _write(self, item):
        return self.rewrite(self.folder / item, lambda: self._newest(item))

    def write_token(self):
        return self._write("token")

    def write_ca(self):
        return self._write("ca")

    def write_pair(self):
        first, second = self.rng.sample(["cert", "key"], 2)
        return [*self._write(first), *delayed(self._write(second), self.pause())]
