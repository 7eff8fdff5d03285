# SPDX-License-Identifier: Apache-2.0
"""metrics.textfile: the metrics as a file for the textfile collector of node_exporter."""
import os
import stat

import pytest
from control import wait_until
from exposition import Metrics
from harness import check_config


@pytest.fixture
def collector(tmp_path):
    """The folder of the collector."""
    folder = tmp_path / "collector"
    folder.mkdir(mode=0o755)
    return folder


def written(path):
    wait_until(path.exists, what="the file is written")
    return Metrics(path.read_text())


def troubles(d):
    """The reasons in `degraded` that are about the file; a test says nothing of other reasons."""
    return [text for text in d.control.status()["degraded"] if "metrics.textfile" in text]


def test_the_file_has_the_metrics_of_informerd_and_of_no_process(api, daemon, hook, collector):
    """node_exporter has process_* of its own, and refuses all if a file has them, too."""
    path = collector / "informerd.prom"
    d = daemon(api, hooks={"h": hook}, metrics={"listen": [], "textfile": path})
    found = written(path)
    status, _headers, body = d.control.ask("/metrics")
    names = set(Metrics(body.decode()).families)
    assert status == 200
    assert set(found.families) == {name for name in names if name.startswith("informerd_")}
    assert found.value("informerd_watch_objects", watch="services") is not None
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert os.listdir(collector) == [path.name]     # the new file was renamed, and nothing stays


def test_it_is_written_again_and_again(api, daemon, collector):
    path = collector / "informerd.prom"
    daemon(api, metrics={"listen": [], "textfile": path})
    first = written(path).value("informerd_loop_lag_seconds_count")
    before = path.stat().st_ino
    wait_until(lambda: path.stat().st_ino != before, what="the file is replaced")
    assert Metrics(path.read_text()).value("informerd_loop_lag_seconds_count") > first


def test_a_folder_that_is_missing_is_one_warning_and_degraded(api, daemon, hook, tmp_path):
    folder = tmp_path / "later"
    path = folder / "informerd.prom"
    d = daemon(api, hooks={"h": hook}, metrics={"listen": [], "textfile": path})
    reason = wait_until(lambda: troubles(d), what="a reason")[0]
    assert reason.startswith(f"metrics.textfile cannot be written: {path}: ")
    assert "No such file" in reason
    assert d.control.ask("/healthz?format=json")[0] == 503
    folder.mkdir()
    written(path)
    wait_until(lambda: troubles(d) == [], what="all is well")
    assert len(d.problems(msg="metrics.textfile cannot be written")) == 1
    assert len(d.log(msg="metrics.textfile is written again")) == 1


def test_a_reload_changes_the_file(api, daemon, collector):
    d = daemon(api, metrics={"listen": [], "textfile": "none"}).synced()
    for name in ("a.prom", "b.prom"):
        d.settings["metrics"]["textfile"] = collector / name
        d.write_config()
        assert d.ctl("reload").returncode == 0
        written(collector / name)
    assert sorted(os.listdir(collector)) == ["a.prom", "b.prom"]    # the old one stays
    for folder in ("missing", "also-missing"):
        d.settings["metrics"]["textfile"] = collector / folder / "c.prom"
        d.write_config()
        assert d.ctl("reload").returncode == 0
        wait_until(lambda: f"/{folder}/" in "".join(d.control.status()["degraded"]),
                   what="a missing folder")
    d.settings["metrics"]["textfile"] = "none"
    d.write_config()
    assert d.ctl("reload").returncode == 0
    assert troubles(d) == []
    assert not d.log(msg="metrics.textfile is written again")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
def test_the_folder_may_be_one_of_root(api, daemon, collector):
    path = collector / "informerd.prom"
    d = daemon(api, metrics={"listen": [], "textfile": path}, user="nobody", state_dir="none")
    written(path)
    assert path.stat().st_uid == 0 and troubles(d) == []


@pytest.mark.parametrize("path", ["informerd.prom", "/var/${name}.prom", "/var/lib/", "/a/../b", ""])
def test_what_is_no_path_is_refused(api, daemon, path):
    d = daemon(api, metrics={"textfile": path}, start=False)
    done = check_config(d.config)
    assert done.returncode == 78 and "metrics.textfile" in done.stderr
