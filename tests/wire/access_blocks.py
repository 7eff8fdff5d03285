# SPDX-License-Identifier: Apache-2.0
"""The comments in config/conf.d/*.conf.example: after the line MARK, up to the end of the comment,
they have the output of informerd --print-rbac for the example. `access_blocks.py --write` fills it
in, with the build that INFORMERD_BUILD names."""
import grp
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import sys
import tempfile

import confwriter
from control import PATIENCE
from harness import INFORMERD, ROOT

CONFIG = ROOT / "config"
MARK = "# Access (informerd --print-rbac):"
SUBJECT = "User:informerd"
INDENT = "#   "


def examples():
    return sorted((CONFIG / "conf.d").glob("*.conf.example"))


def clusters_of(text):
    return sorted(set(re.findall(r'^\s*cluster = "([^"]+)"', text, re.MULTILINE))) or ["prod"]


def split(text):
    """(the text before the block, with MARK; the block; the rest)."""
    before, mark, behind = text.partition(f"\n{MARK}\n")
    assert mark, f"no line {MARK}"
    block = re.match(rf"(?:{INDENT}[^\n]*\n)*", behind)[0]
    return before + mark, block, behind[len(block):]


def filled(text, access):
    """The text of an example with this access as its block."""
    before, _block, rest = split(text)
    return before + "".join(f"{INDENT}{line}\n" for line in access.splitlines()) + rest


def _is_known(find, name):
    try:
        return bool(find(name))
    except KeyError:
        return False


def _whom(match):
    """For re.sub: removes the setting of an account if this machine does not know the account, or
    if the test is not root."""
    user, _, group = match[2].partition(":") if match[1] != "group" else ("", "", match[2])
    known = (not user or _is_known(pwd.getpwnam, user)) and (
        not group or _is_known(grp.getgrnam, group))
    return match[0] if known and os.geteuid() == 0 else ""


def portable(text, hooks):
    """The example with its hooks in this folder, without the programs, accounts and folders that
    this machine does not have."""
    text = text.replace("/usr/lib/informerd/hooks", str(hooks))
    text = re.sub(r'(\boutput = ")[^"]*/', rf'\g<1>{hooks.parent}/', text)
    text = re.sub(r'^\s*(user|group|output_owner) = "([^"]*)";[^\n]*\n', _whom, text,
                  flags=re.MULTILINE)
    return re.sub(r'(\b(?:command|check|apply) = \[ )"([^"]+)"',
                  lambda m: m[0] if os.path.exists(m[2]) else f'{m[1]}"/bin/true"', text)


def prepare(path, folder):
    """Writes the smallest main file that includes the example; returns its path."""
    text = path.read_text()
    hooks = folder / "hooks"
    shutil.copytree(CONFIG / "hooks", hooks, copy_function=shutil.copy)
    for program in hooks.iterdir():
        program.chmod(0o755 if program.read_bytes()[:2] == b"#!" else 0o644)
    settings = {"include": ["conf.d/*.conf"], "user": pwd.getpwuid(os.geteuid()).pw_name,
                "clusters": {name: {"servers": ["http://127.0.0.1:1"]}
                             for name in clusters_of(text)}}
    (folder / "conf.d").mkdir()
    example, config = folder / "conf.d" / path.stem, folder / "informerd.conf"
    example.write_text(portable(text, hooks))
    config.write_text(confwriter.text(settings))
    for made in (example, config):
        made.chmod(0o600)
    return config


def printed(config, subject=SUBJECT):
    done = subprocess.run([INFORMERD, "-c", config, "--print-rbac", "--subject", subject],
                          text=True, stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=PATIENCE, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


def wanted(path):
    """The text of an example with the access that its configuration really needs."""
    with tempfile.TemporaryDirectory() as folder:
        return filled(path.read_text(), printed(prepare(path, pathlib.Path(folder))))


def main():
    for path in examples():
        text = wanted(path)
        if sys.argv[1:] == ["--write"]:
            path.write_text(text)
        elif path.read_text() != text:
            sys.exit(f"{path} is not up to date: run access_blocks.py --write")


if __name__ == "__main__":
    main()
