# SPDX-License-Identifier: Apache-2.0
"""A certificate authority for tests: certificates in PEM files, with ECDSA P-256 keys or others."""
import datetime
import ipaddress
import pathlib

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DAY = datetime.timedelta(days=1)


def _name(common_name, organizations=()):
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, org) for org in organizations]
    return x509.Name(parts + [x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def ec_key():
    return ec.generate_private_key(ec.SECP256R1())


def rsa_key():
    return rsa.generate_private_key(65537, 2048)


def _key_pem(key):
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                             serialization.NoEncryption())


def traditional(pem):
    """The key as Go programs write it: BEGIN RSA PRIVATE KEY, BEGIN EC PRIVATE KEY."""
    return serialization.load_pem_private_key(pem, None).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption())


def _usage(is_ca):
    return x509.KeyUsage(digital_signature=True, content_commitment=False, key_encipherment=False,
                         data_encipherment=False, key_agreement=False, key_cert_sign=is_ca,
                         crl_sign=is_ca, encipher_only=False, decipher_only=False)


class Leaf:
    """A certificate with its key: as bytes (cert, key) and as files (cert_file, key_file)."""

    def __init__(self, stem, cert, key):
        self.cert, self.key = cert, key
        self.serial = x509.load_pem_x509_certificate(cert).serial_number
        self.cert_file, self.key_file = stem.with_suffix(".crt"), stem.with_suffix(".key")
        self.cert_file.write_bytes(cert)
        self.key_file.touch(mode=0o600)
        self.key_file.write_bytes(key)


class Authority:
    """One CA: a root, or an intermediate CA of `parent`. leaf() makes any certificate, server() and
    client() make the usual ones. make_key: for the CA and its certificates."""

    def __init__(self, folder, name="fake-ca", parent=None, make_key=ec_key):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.name = name
        self._make_key = make_key
        self._key = make_key()
        self._cert = (parent or self)._build(_name(name), self._key, -DAY, 3650 * DAY, [], ca=True)
        self._count = 0
        self.pem = self._cert.public_bytes(serialization.Encoding.PEM)
        self.file = self.folder / f"{name}.crt"
        self.file.write_bytes(self.pem)

    def _build(self, subject, key, begin, end, extensions, ca=False):
        now = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None, microsecond=0)
        issuer = _name(self.name)
        builder = (x509.CertificateBuilder().subject_name(subject).issuer_name(issuer)
                   .public_key(key.public_key()).serial_number(x509.random_serial_number())
                   .not_valid_before(now + begin).not_valid_after(now + end)
                   .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
                   .add_extension(_usage(ca), critical=True)
                   .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()),
                                  critical=False))
        if not ca:
            ident = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
            builder = builder.add_extension(ident, critical=False)
        for extension in extensions:
            builder = builder.add_extension(extension, critical=False)
        digest = None if isinstance(self._key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
        return builder.sign(self._key, digest)

    def leaf(self, common_name, dns=(), ips=(), begin=-DAY, end=365 * DAY, client=False, orgs=()):
        """A new leaf certificate; begin and end are timedeltas from now."""
        key = self._make_key()
        usage = ExtendedKeyUsageOID.CLIENT_AUTH if client else ExtendedKeyUsageOID.SERVER_AUTH
        extensions = [x509.ExtendedKeyUsage([usage])]
        names = [x509.DNSName(n) for n in dns]
        names += [x509.IPAddress(ipaddress.ip_address(ip)) for ip in ips]
        if names:
            extensions.append(x509.SubjectAlternativeName(names))
        cert = self._build(_name(common_name, orgs), key, begin, end, extensions)
        self._count += 1
        stem = self.folder / f"{self.name}-{self._count}"
        return Leaf(stem, cert.public_bytes(serialization.Encoding.PEM), _key_pem(key))

    def server(self, dns=("localhost", "kubernetes.default.svc"), ips=("127.0.0.1", "::1"), **more):
        """A server certificate for this machine's loopback names and addresses."""
        return self.leaf("kube-apiserver", dns=dns, ips=ips, **more)

    def expired(self):
        return self.server(begin=-10 * DAY, end=-DAY)

    def client(self, common_name="system:node:node-1", orgs=("system:nodes",)):
        return self.leaf(common_name, client=True, orgs=orgs)
