# SPDX-License-Identifier: Apache-2.0
"""Starts informerd with an example of config/conf.d, unchanged except for the paths of files."""
import pathlib
import shutil

import confwriter

CONFIG = pathlib.Path(__file__).resolve().parents[2] / "config"


class Starter:
    """Called by tests as the fixture `example`."""

    def __init__(self, api, factory, folder, systemctl):
        self.api, self.factory, self.folder, self.systemctl = api, factory, folder, systemctl
        self.hooks = folder / "hooks"   # a copy of config/hooks

    def __call__(self, name, replace=None, clusters=None, start=True, **settings):
        """A daemon whose conf.d holds this example. `replace`: {old text: new text}; each old text
        must be in the example. /usr/lib/informerd/hooks and /usr/bin/systemctl are always replaced."""
        settings = confwriter.merge({"include": ["conf.d/*.conf"]}, settings)
        clusters = clusters or {"prod": self.factory.cluster(self.api)}
        made = self.factory.daemon(start=False, clusters=clusters, watches={}, **settings)
        made.settings = {key: item for key, item in made.settings.items() if item != {}}
        made.write_config()
        (made.folder / "conf.d").mkdir()
        made.example = made.folder / "conf.d" / f"{name}.conf"
        made.example.write_text(self.text(name, replace or {}))
        return made.start() if start else made

    def text(self, name, replace):
        """The text of the example, with the paths of this test."""
        self.copy_hooks()
        text = (CONFIG / "conf.d" / f"{name}.conf.example").read_text()
        for old, new in replace.items():
            assert old in text, f"{old} is not in the example {name}"
            text = text.replace(old, str(new))
        text = text.replace("/usr/bin/systemctl", str(self.systemctl.path))
        return text.replace("/usr/lib/informerd/hooks", str(self.hooks))

    def copy_hooks(self):
        """Copies config/hooks, so that the files belong to the user who runs the test: informerd
        checks the owner of the programs that it runs."""
        if not self.hooks.exists():
            shutil.copytree(CONFIG / "hooks", self.hooks, copy_function=shutil.copy)
            for path in self.hooks.iterdir():
                path.chmod(0o755 if path.read_bytes()[:2] == b"#!" else 0o644)
