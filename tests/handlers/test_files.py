# SPDX-License-Identifier: Apache-2.0
"""config/conf.d/files.conf.example: members of ConfigMaps and Secrets as files."""
import base64

import pytest
from control import wait_until
from fakeapi import simple

LABEL = {"informerd/files": ""}


def configmap(name, **data):
    return simple("ConfigMap", f"shop/{name}", labels=LABEL, data=data)


def secret(name, **data):
    return simple("Secret", f"shop/{name}", labels=LABEL, type="Opaque",
                  data={key: base64.b64encode(text.encode()).decode() for key, text in data.items()})


@pytest.fixture
def app(tmp_path):
    """The folder of the program that reads the files."""
    folder = tmp_path / "app"
    for name in ("conf.d", "secrets"):
        (folder / name).mkdir(parents=True)
    return folder


def files(app):
    return {str(path.relative_to(app)): path.read_text() for path in sorted(app.rglob("*"))
            if path.is_file()}


def test_files_follow_the_members_of_labelled_objects(api, example, app, systemctl):
    api.apply(configmap("app", conf="one", extra="two"), secret("app", password="s3cret"),
              simple("ConfigMap", "shop/other", data={"conf": "none of ours"}))
    d = example("files", {"/etc/app": app}).caught_up(api)
    assert files(app) == {"conf.d/app_conf": "one", "conf.d/app_extra": "two",
                          "secrets/app/password": "s3cret"}
    assert (app / "secrets/app/password").stat().st_mode & 0o7777 == 0o600
    assert (app / "conf.d/app_conf").stat().st_mode & 0o7777 == 0o644
    systemctl.wait(1)   # both hooks share their apply
    api.apply(configmap("app", conf="1"))
    api.delete("secrets", "shop/app")
    d.caught_up(api)
    wait_until(lambda: files(app) == {"conf.d/app_conf": "1"}, what="the files of now")
    assert {call for _, call in systemctl.calls()} == {"try-reload-or-restart app"}
    assert not d.problems()
