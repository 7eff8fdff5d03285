#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Stand-ins of the programs that docs/access.md has its reader type. machine.py puts them into the
PATH of a pretend machine.

    standins.py ROOT PROGRAM ARG...

ROOT/facts has the facts of the cluster that the test has set: ca.crt and ca.key, the token that comes
next, the kubeconfigs of tools. Each prints the output of the real program, and ends with status 2 if it
is used in a way that it does not know."""
import base64
import datetime
import os
import pathlib
import re
import shlex
import subprocess
import sys

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import ExtendedKeyUsageOID

FLAGS = {"-n", "-f", "-o", "--name", "--context", "--kubeconfig", "--region", "--cluster-name",
         "--principal-arn", "--kubernetes-groups", "--query", "--output"}


def split(args):
    """(words, options) of a command line; an option is --name=value, or one of FLAGS and a
    value."""
    words, options, rest = [], {}, list(args)
    while rest:
        arg = rest.pop(0)
        name, is_long, value = arg.partition("=")
        if arg in FLAGS:
            options[arg] = rest.pop(0)
        elif is_long and arg.startswith("--"):
            options[name] = value
        else:
            words.append(arg)
    return words, options


def group_of(document):
    group, _, version = document["apiVersion"].rpartition("/")
    return group if version else ""


class Machine:
    def __init__(self, root):
        self.root, self.facts = root, root / "facts"

    def fact(self, name):
        return (self.facts / name).read_text()

    # ---- The cluster

    def kubectl(self, args):
        words, options = split(args)
        verb = words[0]
        if verb == "apply":
            return self.apply(options["-f"])
        if words[:2] == ["create", "token"]:
            return self.create_token(words[2], options)
        if verb == "create":
            return self.create(words[1], words[-1])
        if words[:2] == ["certificate", "approve"]:
            (self.facts / "approved").write_text(words[2])
            return f"certificatesigningrequest.certificates.k8s.io/{words[2]} approved"
        if words == ["get", "configmap", "kube-root-ca.crt"]:
            assert options["-o"] == r"jsonpath={.data.ca\.crt}" and options["-n"] == "kube-system"
            return self.fact("ca.crt")
        if words[:2] == ["get", "csr"]:
            assert options["-o"] == "jsonpath={.status.certificate}"
            assert words[2] == self.fact("approved")
            return self.certificate()
        raise ValueError(args)

    def apply(self, path):
        text = sys.stdin.read() if path == "-" else pathlib.Path(path).read_text()
        said = []
        for document in yaml.safe_load_all(text):
            kind, name = document["kind"].lower(), document["metadata"]["name"]
            said.append(f"{kind}.{group_of(document)}/{name} created")
            (self.facts / f"applied-{kind}.yaml").write_text(yaml.safe_dump(document))
        return "\n".join(said)

    def create_token(self, account, options):
        assert account == "informerd" and options["-n"] == "kube-system"
        assert options["--duration"] == "24h"
        if "--kubeconfig" in options:
            self.use_token(pathlib.Path(options["--kubeconfig"]))
            return self.fact("token.new")
        return self.fact("token")

    def use_token(self, kubeconfig):
        """The kubeconfig has the present token, in a file beside it."""
        user = yaml.safe_load(kubeconfig.read_text())["users"][0]["user"]
        assert (kubeconfig.parent / user["tokenFile"]).read_text().strip() == self.fact("token")

    def create(self, kind, name):
        if kind == "service":
            (self.root / "created" / name).touch()
        group = ".rbac.authorization.k8s.io" if kind in ("role", "rolebinding") else ""
        return f"{kind}{group}/{name} created"

    def certificate(self):
        """The answer of the cluster's signer to the CertificateSigningRequest that was applied."""
        spec = yaml.safe_load(self.fact("applied-certificatesigningrequest.yaml"))["spec"]
        assert spec["signerName"] == "kubernetes.io/kube-apiserver-client"
        assert "client auth" in spec["usages"]
        asked = x509.load_pem_x509_csr(base64.b64decode(spec["request"]))
        assert asked.is_signature_valid
        ca = x509.load_pem_x509_certificate(self.fact("ca.crt").encode())
        key = serialization.load_pem_private_key(self.fact("ca.key").encode(), None)
        now = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None, microsecond=0)
        signed = (x509.CertificateBuilder().subject_name(asked.subject).issuer_name(ca.subject)
                  .public_key(asked.public_key()).serial_number(x509.random_serial_number())
                  .not_valid_before(now - datetime.timedelta(minutes=5))
                  .not_valid_after(now + datetime.timedelta(seconds=spec["expirationSeconds"]))
                  .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), False)
                  .sign(key, hashes.SHA256()))
        return base64.b64encode(signed.public_bytes(serialization.Encoding.PEM)).decode()

    # ---- Tools that write kubeconfigs

    def kind(self, args):
        words, options = split(args)
        assert options == {"--name": "demo"}
        return {"create cluster": "", "get kubeconfig": self.fact("kind.yaml")}[" ".join(words)]

    def aws(self, args):
        words, options = split(args)
        assert options.get("--region") == "eu-west-1"
        if words == ["eks", "create-access-entry"]:
            assert options["--output"] == "text"
            assert options["--query"] == "accessEntry.kubernetesGroups"
            return options["--kubernetes-groups"]
        assert words == ["eks", "update-kubeconfig"] and options["--name"] == "demo"
        path = pathlib.Path(options["--kubeconfig"])
        path.touch(mode=0o600)
        path.write_text(self.fact("eks.yaml"))
        name = re.search("current-context: (.*)", self.fact("eks.yaml"))[1]
        return f"Added new context {name} to {path}"

    def gcloud(self, args):
        words, options = split(args)
        if words[:2] == ["projects", "add-iam-policy-binding"]:
            assert options["--role"] == "roles/container.clusterViewer"
            assert options["--member"].startswith("serviceAccount:")
            return f"Updated IAM policy for project [{words[2]}]."
        assert words[:3] == ["container", "clusters", "get-credentials"] and options["--location"]
        assert os.environ["CLOUDSDK_CONTAINER_USE_APPLICATION_DEFAULT_CREDENTIALS"] == "true"
        path = pathlib.Path(os.environ["KUBECONFIG"])
        path.touch(mode=0o600)
        path.write_text(self.fact("gke.yaml"))
        return "Fetching cluster endpoint and auth data.\n" \
            f"kubeconfig entry generated for {words[3]}."

    # ---- The machine

    def systemctl(self, args):
        words = [arg for arg in args if arg != "--now"]
        if words in (["enable", "informerd"], ["restart", "informerd"]):
            with open(self.root / "journal", "ab") as journal:
                process = subprocess.Popen(
                    [self.root / "bin" / "informerd", "--log-format", "journal"], stdout=journal,
                    stderr=journal, stdin=subprocess.DEVNULL, start_new_session=True, cwd="/")
            (self.root / "pid").write_text(str(process.pid))
        elif words[0] == "start":
            self.run_unit(words[1])
        elif words[0] == "enable":
            assert self.unit(words[1]).exists()
        else:
            assert words == ["daemon-reload"], args
        return ""

    def unit(self, name):
        return self.root / "etc" / "systemd" / "system" / name

    def run_unit(self, name):
        """Carries out ExecStart= of a service as systemd does."""
        text = re.sub(r"\\\n\s*", " ", self.unit(name).read_text())
        settings = dict(re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE))
        assert settings["Type"] == "oneshot"
        subprocess.run(shlex.split(settings["ExecStart"]), check=True, stdin=subprocess.DEVNULL,
                       umask=int(settings.get("UMask", "0022"), 8), cwd="/")

    def journalctl(self, args):
        assert args == ["-u", "informerd", "-o", "cat"]
        text = (self.root / "journal").read_text()
        return re.sub(r"^<\d>", "", text, flags=re.MULTILINE).rstrip("\n")


def main():
    machine = Machine(pathlib.Path(sys.argv[1]))
    try:
        said = getattr(machine, sys.argv[2])(sys.argv[3:])
    except (AssertionError, AttributeError, KeyError, ValueError) as error:
        print(f"the stand-in of {sys.argv[2]} does not know this: {sys.argv[3:]}: {error!r}",
              file=sys.stderr)
        return 2
    end = "" if "-o" in sys.argv and sys.argv[2] == "kubectl" else "\n"
    sys.stdout.write(said + end if said else "")
    return 0


if __name__ == "__main__":
    sys.exit(main())
