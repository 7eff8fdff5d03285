# SPDX-License-Identifier: Apache-2.0
"""config/conf.d/nginx-tls.conf.example with the real nginx: certificates follow Secrets."""
import base64
import json
import os
import socket
import ssl
import stat
import threading

import nginx_end
import programs
import pytest
from control import wait_until
from fakeapi import simple

LABEL = {"informerd/nginx": ""}
HOOK = "nginx_certificates"
SITE = """
server {{
    listen 127.0.0.1:443 ssl;
    server_name {name}.example;
    ssl_certificate {folder}/tls/ingress_{name}.pem;
    ssl_certificate_key {folder}/tls/ingress_{name}.pem;
    return 200;
}}
"""


class Nginx(nginx_end.Nginx):
    """An nginx with a site for each of some Secrets."""

    def __init__(self, real, systemctl, authority, folder):
        super().__init__(real, systemctl, folder)
        self.authority, self.tls = authority, folder / "tls"
        self.tls.mkdir(mode=0o700)

    def serve(self, *names):
        """Starts nginx with a site NAME.example for each Secret ingress/NAME, whose file must
        exist."""
        for name in names:
            self.write_site(name, SITE.format(name=name, folder=self.folder))
        self.start(lambda: self.served(names[0]))

    def served(self, name):
        """The certificate, as PEM, that a client of NAME.example gets and verifies."""
        context = ssl.create_default_context(cafile=self.authority.file)
        with socket.create_connection(("127.0.0.1", 443), 10) as plain:
            with context.wrap_socket(plain, server_hostname=f"{name}.example") as tls:
                return ssl.DER_cert_to_PEM_cert(tls.getpeercert(binary_form=True))

    def wait_serves(self, name, leaf):
        wait_until(lambda: self.served(name) == leaf.cert.decode(), 15,
                   f"the new certificate of {name}")

    def names(self):
        return sorted(path.name for path in self.tls.iterdir())

    def wait_names(self, *names):
        """Waits until there are these files and no others. The temporary file of a run that is
        tried again may come and go meanwhile."""
        wait_until(lambda: self.names() == sorted(names),
                   what=lambda: f"{names}, not {self.names()}")


@pytest.fixture
def nginx(real, systemctl, authority, tmp_path):
    return Nginx(real, systemctl, authority, tmp_path / "nginx")


@pytest.fixture
def follow(example, nginx, api):
    """Starts informerd, and waits until it has handled all objects."""
    def make():
        made = example("nginx-tls", nginx.places())
        made.synced()
        made.caught_up(api)
        return made
    return make


@pytest.fixture
def leaf(authority):
    """leaf("a"): a new certificate for a.example."""
    return lambda name: authority.leaf(name, dns=[f"{name}.example"])


def secret(name, cert, key, namespace="ingress", kind="kubernetes.io/tls", labels=None, **more):
    """A Secret; cert and key are bytes, or None if the Secret does not have them."""
    data = {entry: base64.b64encode(value).decode()
            for entry, value in (("tls.crt", cert), ("tls.key", key)) if value is not None}
    return simple("Secret", f"{namespace}/{name}", labels=LABEL if labels is None else labels,
                  data=data, type=kind, **more)


def secret_of(name, made, **more):
    return secret(name, made.cert, made.key, **more)


class Visitor:
    """with Visitor(nginx, "a") as v: makes TLS handshakes until the end of the block; v.failed
    lists the errors."""

    def __init__(self, nginx, name):
        self.nginx, self.name, self.failed, self.shaken = nginx, name, [], 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self):
        while not self._end.is_set():
            try:
                self.nginx.served(self.name)
                self.shaken += 1
            except OSError as error:
                self.failed.append(repr(error))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_exc):
        self._end.set()
        self._thread.join(20)


def test_a_client_sees_the_renewal_of_a_certificate(api, follow, nginx, leaf):
    old, new = leaf("a"), leaf("a")
    api.apply(secret_of("a", old))
    d = follow()
    nginx.serve("a")
    nginx.wait_serves("a", old)
    with Visitor(nginx, "a") as visitor:
        api.apply(secret_of("a", new))
        nginx.wait_serves("a", new)
        before = visitor.shaken
        wait_until(lambda: visitor.shaken > before + 20)
    assert visitor.failed == []
    d.caught_up(api)
    file = nginx.tls / "ingress_a.pem"
    assert file.read_bytes() == new.cert + new.key
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and file.stat().st_uid == os.getuid()


def broken_chain(made, _other):
    return made.cert + b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", made.key


def with_password(made, _other):
    done = programs.run("openssl", "pkey", "-aes128", "-passout", "pass:Geheim",
                        stdin=made.key.decode())
    return made.cert, done.stdout.encode()


def too_weak(_made, _other):
    done = programs.run("openssl", "req", "-x509", "-newkey", "rsa:512", "-nodes", "-subj", "/CN=b",
                        "-keyout", "-")
    key, mark, cert = done.stdout.partition("-----BEGIN CERTIFICATE-----")
    return (mark + cert).encode(), key.encode()


BAD = {
    "the key of another": lambda made, other: (made.cert, other.key),
    "a broken certificate": lambda made, _other: (made.cert.replace(b"M", b"!", 1), made.key),
    "a broken chain": broken_chain,
    "no certificate": lambda made, _other: (None, made.key),
    "no key": lambda made, _other: (made.cert, None),
    "an empty key": lambda made, _other: (made.cert, b""),
    "half a key": lambda made, _other: (made.cert, made.key[:60]),
    "a key with a password": with_password,
    "a key that is too weak": too_weak,
    "another's key before the certificate": lambda made, other: (other.key + made.cert, made.key),
    "words": lambda _made, _other: (b"topsecret words", b"topsecret key\n"),
    "bytes": lambda _made, _other: (b"\xff\xfe\0topsecret", b"\xff\0\n"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_certificate_changes_nothing_beside_good_ones(api, follow, nginx, leaf, what):
    good, other, renewed = leaf("good"), leaf("other"), leaf("good")
    api.apply(secret_of("good", good), secret_of("b", leaf("b")))
    d = follow()
    nginx.serve("good", "b")
    before = nginx.served("b")
    made = leaf("b")
    cert, key = BAD[what](made, other)
    api.apply(secret("b", cert, key), secret("new", cert, key))
    for name in ("b", "new"):
        d.wait_problem("failed", hook=HOOK, key=f"ingress/{name}")
    api.apply(secret_of("good", renewed))
    nginx.wait_serves("good", renewed)
    assert nginx.served("b") == before
    nginx.wait_names("ingress_b.pem", "ingress_good.pem")
    assert_told_nobody(d, cert, key)
    api.apply(secret_of("b", made))
    nginx.wait_serves("b", made)


def test_a_secret_that_is_not_base64_is_not_quoted(api, follow):
    """No API server has such a Secret; jq would quote its value in the error message."""
    d = follow()
    broken = secret("b", b"", b"")
    broken["data"] = {"tls.crt": "topsecret!", "tls.key": "topsecret!"}
    api.apply(broken)
    d.wait_problem("failed", hook=HOOK, key="ingress/b")
    assert_told_nobody(d, None, None)


def assert_told_nobody(d, cert, key):
    """Checks that cert and key are neither in the log nor in the answers that everybody may read,
    not as they are and not in base64."""
    said = "\n".join([d.stderr(), *(json.dumps(d.ctl_json(*what)) for what in (
        ("runs",), ("hooks",), ("status",), ("why", HOOK, "ingress/b")))])
    for secret_bytes in filter(None, (cert, key)):
        for line in secret_bytes.splitlines():
            if len(line) >= 8 and not line.startswith(b"-----"):
                assert line.decode(errors="replace") not in said
        assert base64.b64encode(secret_bytes).decode()[:24] not in said
    assert "topsecret" not in said


def test_only_selected_secrets_are_requested(api, follow, nginx, leaf):
    made = leaf("a")
    api.apply(secret_of("a", made), secret_of("b", made, namespace="elsewhere"),
              secret_of("c", made, labels={}), secret_of("d", made, kind="Opaque"))
    d = follow()
    assert nginx.names() == ["ingress_a.pem"]
    assert [key for _when, key in d.starts(HOOK) if key] == ["ingress/a"]
    for request in api.of("secrets"):
        assert request.path == "/api/v1/namespaces/ingress/secrets"
        assert request.query["fieldSelector"] == "type=kubernetes.io/tls"
        assert request.query["labelSelector"] == "informerd/nginx"


def test_a_secret_that_changes_beside_its_certificate_starts_no_run(api, follow, leaf, systemctl):
    made = leaf("a")
    api.apply(secret_of("a", made))
    d = follow()
    runs = d.starts(HOOK)
    changed = secret_of("a", made, annotations={"x": "; evil"})
    changed["data"]["ca.crt"] = base64.b64encode(b"another").decode()
    api.apply(changed)
    d.caught_up(api)
    assert d.starts(HOOK) == runs and len(systemctl.calls()) == 1


def test_the_file_of_a_deleted_secret_goes(api, follow, nginx, leaf):
    a, b = leaf("a"), leaf("b")
    api.apply(secret_of("a", a), secret_of("b", b))
    d = follow()
    nginx.serve("a")
    api.delete("secrets", "ingress/b")
    d.caught_up(api)
    assert nginx.names() == ["ingress_a.pem"]
    nginx.wait_serves("a", a)


def test_a_secret_that_is_deleted_too_early_leaves_nginx_as_it_is(api, follow, nginx, leaf,
                                                                 systemctl):
    """The reload fails and is tried again until the server block is removed as well."""
    a, b, renewed = leaf("a"), leaf("b"), leaf("a")
    api.apply(secret_of("a", a), secret_of("b", b))
    d = follow()
    nginx.serve("a", "b")
    before = len(systemctl.calls())
    api.delete("secrets", "ingress/b")
    d.wait_problem("failed", hook=HOOK)
    assert nginx.served("b") == b.cert.decode() and len(systemctl.calls()) == before
    nginx.remove_site("b")
    systemctl.wait(before + 1)
    api.apply(secret_of("a", renewed))
    nginx.wait_serves("a", renewed)
