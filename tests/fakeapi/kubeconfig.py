# SPDX-License-Identifier: Apache-2.0
"""Writes kubeconfig files as kubeadm and cloud providers do: block style YAML, data or files."""
import base64
import pathlib


def _b64(data):
    return base64.b64encode(data).decode()


def _yaml(value, indent=0):
    pad = "  " * indent
    out = []
    for key, item in value.items():
        if isinstance(item, dict):
            out += [f"{pad}{key}:", *_yaml(item, indent + 1)] if item else [f"{pad}{key}: {{}}"]
        elif isinstance(item, list):
            out.append(f"{pad}{key}:")
            for entry in item:
                lines = _yaml(entry, indent + 1) if isinstance(entry, dict) else [str(entry)]
                out += [f"{pad}- {lines[0].strip()}", *lines[1:]]
        elif isinstance(item, bool):
            out.append(f"{pad}{key}: {'true' if item else 'false'}")
        else:
            out.append(f"{pad}{key}: {item}")
    return out


def kubeconfig_text(server, ca=None, ca_file=None, client=None, client_files=False, token=None,
                    token_file=None, tls_server_name=None, context="fake", namespace=None,
                    cluster=None, user=None):
    """ca: PEM bytes; client: a Leaf, inlined unless client_files; cluster, user: further fields of
    the two; the rest as in a kubeconfig."""
    cluster, user = dict(cluster or {}), dict(user or {})
    if ca_file:
        cluster["certificate-authority"] = ca_file
    elif ca:
        cluster["certificate-authority-data"] = _b64(ca)
    cluster["server"] = server
    if tls_server_name:
        cluster["tls-server-name"] = tls_server_name
    if client and client_files:
        user["client-certificate"], user["client-key"] = client.cert_file, client.key_file
    elif client:
        user["client-certificate-data"] = _b64(client.cert)
        user["client-key-data"] = _b64(client.key)
    if token:
        user["token"] = token
    if token_file:
        user["tokenFile"] = token_file
    ctx = {"cluster": "fake", "user": "me"}
    if namespace:
        ctx["namespace"] = namespace
    doc = {"apiVersion": "v1", "kind": "Config", "clusters": [{"cluster": cluster, "name": "fake"}],
           "contexts": [{"context": ctx, "name": context}], "current-context": context,
           "preferences": {}, "users": [{"name": "me", "user": user}]}
    return "\n".join(_yaml(doc)) + "\n"


def write_kubeconfig(api, path, ca=None, server=None, **more):
    """For a FakeApi: its URL; ca is an Authority (its PEM goes in as data)."""
    text = kubeconfig_text(server or api.url, ca=ca.pem if ca is not None else None, **more)
    path = pathlib.Path(path)
    path.touch(mode=0o600)
    path.write_text(text)
    return path
