# SPDX-License-Identifier: Apache-2.0
"""The files of credentials, and how a kubelet, a projected volume and an administrator replace
them."""
import os
import shutil


def put(path, data, mode=0o600):
    """Replaces a file in one step."""
    new = path.with_name(f".{path.name}.new")
    new.write_bytes(data if isinstance(data, bytes) else data.encode())
    new.chmod(mode)
    new.rename(path)
    return path


def point(path, target):
    """Sets a symbolic link in one step."""
    new = path.with_name(f".{path.name}.new")
    new.symlink_to(target)
    new.rename(path)
    return path


class Unseen:
    """A file that changes without an event in its folder: it is written by a second name."""

    def __init__(self, path, text):
        self.path, self.other = path, path.parent / "other-names" / path.name
        self.other.parent.mkdir(exist_ok=True)
        self.other.write_text(text)
        os.link(self.other, path)

    def write(self, text):
        self.other.write_text(text)


class Volume:
    """A projected volume as the kubelet makes it: each file is a link to ..data/FILE, the link
    ..data is swapped, and then the old folder is removed."""

    def __init__(self, path, **files):
        self.path, self.count = path, 0
        path.mkdir(mode=0o755)
        self.write(**files)
        for name in files:
            point(path / name, f"..data/{name}")

    def write(self, **files):
        before = self.path / f"..2026_{self.count}"
        self.count += 1
        folder = self.path / f"..2026_{self.count}"
        folder.mkdir(mode=0o755)
        for name, data in files.items():
            put(folder / name, data)
        point(self.path / "..data", folder.name)
        shutil.rmtree(before, ignore_errors=True)


class KubeletPki:
    """/var/lib/kubelet/pki: one file for certificate and key, and a link that moves to the newest
    one."""

    def __init__(self, path, leaf):
        self.path, self.count = path, 0
        path.mkdir(mode=0o700)
        self.current = path / "kubelet-client-current.pem"
        self.write(leaf)

    def write(self, leaf):
        self.count += 1
        put(self.path / f"kubelet-client-{self.count}.pem", leaf.cert + leaf.key)
        point(self.current, self.path / f"kubelet-client-{self.count}.pem")
