# SPDX-License-Identifier: Apache-2.0
"""--print-rbac: the roles that it prints allow the daemon's requests, and nothing else."""
import base64
import json
import random
import subprocess

import pytest
from authorizer import Roles
from control import PATIENCE, wait_until
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509 import Name, NameAttribute
from cryptography.x509.name import _ASN1Type
from cryptography.x509.oid import NameOID
from fakeapi import service
from fakeapi.certs import DAY, Leaf, _key_pem
from fakeapi.objects import simple
from harness import INFORMERD, SANITIZER

IDENTITY = {(None, "", "namespaces", "kube-system", verb) for verb in ("get", "list")}
KINDS = "User:NAME, Group:NAME or ServiceAccount:NAMESPACE:NAME"


def print_rbac(config, *flags, code=0):
    """(stdout, stderr) of informerd --print-rbac."""
    done = subprocess.run([INFORMERD, "-c", config, "--print-rbac", *flags], text=True, cwd="/",
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
    assert done.returncode == code, done.stderr
    assert not [word for word in SANITIZER if word in done.stderr], done.stderr
    assert bool(done.stdout) == (code == 0) == (not done.stderr)
    return done.stdout, done.stderr


def roles(config, *flags):
    return Roles(print_rbac(config, *flags or ("--subject", "User:u"))[0])


def granted(config, *flags):
    """All grants but the right to read the cluster's identity, which is always there."""
    grants = roles(config, *flags).grants()
    assert IDENTITY <= grants
    return grants - IDENTITY


def on(resource, verbs="list watch", space=None, group="", names=(None,)):
    return {(space, group, resource, name, verb) for name in names for verb in verbs.split()}


# ---- The grants

EVERYTHING = {
    "services": {"resource": "svc", "namespaces": ["*"]},
    "again": {"resource": "services", "namespaces": ["a"], "names": ["x"]},
    "chosen": {"resource": "configmaps", "namespaces": ["a", "b"], "names": ["x", "y"],
               "field_selector": "metadata.namespace!=z", "confirm_deletes": True},
    "nodes": {"resource": "nodes", "names": ["n1"]},
    "slices": {"resource": "endpointslices", "namespaces": ["a"], "label_selector": "a=b",
               "audit": "1s"},
    "widgets": {"resource": "widgets.v1.example.com", "namespaces": ["*"]},
}


@pytest.mark.parametrize("lists", ["off", "on"])
def test_the_roles_allow_each_request_and_each_grant_is_needed(new_api, daemon, lists):
    api = new_api(watch_list=True)
    api.add_resource("widgets", "Widget", group="example.com")
    api.apply(simple("ConfigMap", "a/x"), service("a/x"))
    d = daemon(api, watches=EVERYTHING, tuning={"watch_list": lists})
    d.synced(*EVERYTHING)
    api.delete("configmaps", "a/x")
    api.wait_for_request(lambda r: r.kind == "G" and r.resource == "configmaps")
    d.control.wait_watch("slices", state="watching")
    d.control.post("/v1/watches/slices/verify")
    api.wait_for_request(lambda r: r.kind == "L" and r.resource == "endpointslices",
                         count=2 if lists == "off" else 1)
    r = roles(d.config)

    def asked():
        return [request for request in api.requests if request.table is not None]

    def unused():
        return r.grants() - set().union(*(r.allowing(request) for request in asked()))

    gets = on("configmaps", "get", "a", names=["y"]) | on("configmaps", "get", "b",
                                                          names=["x", "y"])
    if lists == "off":      # else a refused stream falls back to LIST
        wait_until(lambda: unused() == IDENTITY | gets)
    refused = [request for request in asked() if not r.allowing(request)]
    assert not refused and asked()
    assert r.subject == {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "u"}


def test_each_kind_of_watch(api, daemon):
    d = daemon(api, watches=EVERYTHING, start=False)
    assert granted(d.config) == set().union(
        on("services"), on("nodes", names=["n1"]), on("widgets", group="example.com"),
        on("configmaps", "get list watch", "a", names=["x", "y"]),
        on("configmaps", "get list watch", "b", names=["x", "y"]),
        on("endpointslices", space="a", group="discovery.k8s.io"))
    assert not api.accepted, "offline"


def test_the_cluster_is_to_be_known_without_a_state_too(api, daemon):
    d = daemon(api, start=False, state_dir="none")
    assert roles(d.config).grants() == on("services") | IDENTITY


def test_a_view_and_watches_that_are_equal_add_nothing(api, daemon):
    watches = {name: {"resource": name, "namespaces": ["*"]} for name in
               ("services", "endpointslices")}
    bare = daemon(api, watches=watches, start=False)
    more = daemon(api, watches={**watches, "again": watches["services"]}, start=False, views={
        "v": {"type": "service_endpoints", "services": "services", "slices": "endpointslices"}})
    assert print_rbac(bare.config, "--subject", "User:u") == \
        print_rbac(more.config, "--subject", "User:u")


def smallest(watches):
    """The grants of these watches (resources of the core group), without the grants that a wider
    one contains."""
    out = set()
    for w in watches.values():
        verbs = "get list watch" if w["confirm_deletes"] else "list watch"
        for space in w["namespaces"]:
            out |= on(w["resource"], verbs, None if space == "*" else space,
                      names=w["names"] or (None,))
    return {g for g in out | IDENTITY if not any(
        (g[0] if wide[0] else None, g[3] if wide[3] else None) == (wide[0], wide[3])
        and g[1:3] == wide[1:3] and g[4] == wide[4] for wide in out - {g})}


@pytest.mark.parametrize("seed", range(12))
def test_any_watches_in_any_order_need_the_smallest_set(api, daemon, seed):
    rng = random.Random(seed)
    watches = {f"w{n}": {
        "resource": rng.choice(["services", "secrets", "pods"]),
        "namespaces": rng.choice([["*"], ["a"], ["b"], ["a", "b"], ["b", "a"]]),
        "names": rng.sample("xyz", rng.choice([0, 0, 1, 2])),
        "confirm_deletes": rng.random() < 0.3} for n in range(rng.randrange(1, 9))}
    one = daemon(api, watches=watches, start=False)
    other = daemon(api, watches=dict(reversed(watches.items())), start=False)
    text = print_rbac(one.config, "--subject", "User:u")[0]
    assert Roles(text).grants() == smallest(watches)
    assert text == print_rbac(other.config, "--subject", "User:u")[0]


def test_a_watch_of_namespaces_may_have_the_identity_already(api, daemon):
    d = daemon(api, start=False, watches={"n": {"resource": "ns", "confirm_deletes": True}})
    assert roles(d.config).grants() == on("namespaces", "get list watch")
    d = daemon(api, start=False, watches={"n": {"resource": "ns", "names": ["kube-system"]}})
    assert roles(d.config).grants() == on("namespaces", "get list watch", names=["kube-system"])


def test_a_group_that_only_a_server_knows_is_asked_for_with_file_and_line(api, daemon):
    watches = {name: {"resource": name.replace("_", "."), "namespaces": ["*"]} for name in
               ("widgets", "services", "certs_example_com", "gadgets_v1_example_com")}
    d = daemon(api, watches=watches, start=False)
    told = print_rbac(d.config, "--subject", "User:u", code=78)[1].splitlines()
    lines = d.config.read_text().splitlines()
    assert len(told) == 2, told
    for text, name in zip(told, ("widgets", "certs.example.com")):
        place, _, rest = text.partition(": ")
        file, _, number = place.rpartition(":")
        assert file == str(d.config) and f'resource : "{name}"' in lines[int(number) - 1]
        assert f'"{name}"' in rest and "write RESOURCE.VERSION.GROUP" in rest


def test_a_plural_that_nobody_has_checked_has_a_comment(api, daemon):
    d = daemon(api, start=False, watches={
        "a": {"resource": "gadgets.v1.example.com", "namespaces": ["*"]},
        "b": {"resource": "widgets.v1.example.com", "namespaces": ["*"]}})
    text = print_rbac(d.config, "--subject", "User:u")[0]
    for name in ("gadgets", "widgets"):
        assert f'plural: kubectl api-resources has it\n  - apiGroups: ["example.com"]\n' \
               f'    resources: ["{name}"]\n' in text


# ---- The subject

def token(sub):
    part = base64.urlsafe_b64encode(json.dumps({"iss": "x", "sub": sub}).encode()).decode()
    return f"e30.{part.rstrip('=')}.c2ln"


ACCOUNT = "system:serviceaccount:tools:node.agent"


def test_the_subject_of_a_service_account_token(api, daemon, tmp_path):
    d = daemon(api, start=False, credentials={"token": token(ACCOUNT)})
    text = print_rbac(d.config)[0]
    assert Roles(text).subject == {"kind": "ServiceAccount", "namespace": "tools",
                                   "name": "node.agent"}
    assert Roles(text).names == {"informerd-serviceaccount:tools:node.agent"}
    assert text.startswith('# cluster prod, for "ServiceAccount:tools:node.agent"\n')
    assert token(ACCOUNT).split(".")[1] not in text
    file = tmp_path / "token"
    file.write_text(token(ACCOUNT) + "\n")
    d = daemon(api, start=False, credentials={"token_file": file})
    assert print_rbac(d.config)[0] == text


@pytest.mark.parametrize("files", [False, True], ids=["data", "files"])
def test_the_subject_of_a_client_certificate(api, daemon, authority, files):
    leaf = authority.client("node agent: Jörg", ("site:a", 'x "y"\nz'))
    d = daemon(api, start=False, credentials={"client": leaf, "client_files": files,
                                              "token": token(ACCOUNT)})
    text = print_rbac(d.config)[0]
    assert Roles(text).subject["kind"] == "User", "a server looks at the certificate first"
    assert Roles(text).subject["name"] == "node agent: Jörg"
    assert '--subject "Group:site:a"\n' in text
    assert '--subject "Group:x \\"y\\"\\U0000000Az"\n' in text


@pytest.fixture
def client_of(authority, tmp_path):
    """client_of(attribute, ...): a client certificate with just these attributes in its subject."""
    def make(*attributes):
        key = ec.generate_private_key(ec.SECP256R1())
        cert = authority._build(Name(attributes), key, -DAY, DAY, [])
        return Leaf(tmp_path / "odd", cert.public_bytes(serialization.Encoding.PEM), _key_pem(key))
    return make


def test_the_last_common_name_counts_as_it_does_for_servers(api, daemon, client_of):
    cn = [NameAttribute(NameOID.COMMON_NAME, name) for name in ("first", "last")]
    d = daemon(api, start=False, credentials={"client": client_of(*cn)})
    assert roles(d.config, "--log-level", "info").subject["name"] == "last"


NOBODY = {
    "no CN": lambda c: {"client": c(NameAttribute(NameOID.ORGANIZATION_NAME, "o"))},
    "a CN in UTF-16": lambda c: {"client": c(NameAttribute(NameOID.COMMON_NAME, "a",
                                                           _ASN1Type.BMPString))},
    "an opaque token": lambda c: {"token": "abcdef.123456"},
    "a person's token": lambda c: {"token": token("jane")},
    "half an account": lambda c: {"token": token("system:serviceaccount:a")},
    "a token's file that is missing": lambda c: {"token_file": "/no/such/token"},
    "nothing": lambda c: {},
}


@pytest.mark.parametrize("what", NOBODY)
def test_the_subject_must_be_given_when_the_credential_does_not_tell_it(api, daemon, client_of,
                                                                        what):
    d = daemon(api, start=False, credentials=NOBODY[what](client_of))
    told = print_rbac(d.config, code=64)[1]
    assert told.startswith("informerd: cluster prod: ") and f"--subject {KINDS}" in told
    assert "abcdef" not in told and ("/no/such/token" in told) == ("missing" in what)
    assert roles(d.config, "--subject", "Group:g").subject["kind"] == "Group"


# ---- Several clusters, the command line

def test_each_cluster_has_its_own_set(api, factory):
    clusters = {
        "east": factory.cluster(api, token=token("system:serviceaccount:e:e")),
        "west": factory.cluster(api, token=token("system:serviceaccount:w:w")),
        "idle": factory.cluster(api)}
    d = factory.daemon(clusters=clusters, start=False, watches={
        "a": {"resource": "services", "namespaces": ["*"], "cluster": "east"},
        "b": {"resource": "pods", "namespaces": ["x"], "cluster": "west"}})
    text = print_rbac(d.config)[0]
    east, west = text.split("# cluster west")
    west, idle = west.split("# cluster idle")
    assert west.startswith(', for "ServiceAccount:w:w"\n') and idle == ": no watch uses it\n"
    west = "# " + west
    assert Roles(east).grants() == on("services") | IDENTITY
    assert Roles(east).subject["name"] == "e"
    assert Roles(west).grants() == on("pods", space="x") | IDENTITY
    assert Roles(west).subject["name"] == "w"
    both = print_rbac(d.config, "--subject", "User:u")[0]
    assert both.count(', for "User:u"\n') == 2


def test_wrong_usage_and_a_wrong_config(api, daemon):
    d = daemon(api, start=False)
    for flags in (("--subject", "jane"), ("--subject", "User:"), ("--subject",)):
        assert "--subject" in print_rbac(d.config, *flags, code=64)[1] or len(flags) == 1
    done = subprocess.run([INFORMERD, "-c", d.config, "-t", "--subject", "User:u"], text=True,
                          capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 64 and "--subject belongs to --print-rbac" in done.stderr
    d.config.write_text(d.config.read_text() + "nonsense = 1;\n")
    assert "nonsense" in print_rbac(d.config, "--subject", "User:u", code=78)[1]
    assert not api.accepted
