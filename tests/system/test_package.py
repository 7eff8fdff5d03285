# SPDX-License-Identifier: Apache-2.0
"""The Debian package and the files that it installs, from the installation to the first hook, upgrade,
purge."""
import os
import re
import signal
import stat

import pytest

from control import wait_until
from fakeapi import service
from harness import ROOT
from machine import PACKAGE, Unit, repackaged

TWO_LINES = """\
watches : { services : { resource = "services"; namespaces = [ "*" ]; }; };
hooks : { print : { sources = [ "services" ]; command = [ "/usr/lib/informerd/hooks/print" ]; }; };
"""
KUBECONFIG = "/etc/informerd/kubeconfig"
STATE = "/var/lib/informerd"
CONFFILES = ["/etc/informerd/conf.d/10-cluster.conf", "/etc/informerd/conf.d/README",
             "/etc/informerd/informerd.conf"]


@pytest.fixture(scope="module")
def debian(new_machine):
    """A machine for these tests alone."""
    made = new_machine()
    made.is_fresh = False
    return made


@pytest.fixture
def fresh(debian, package):
    """The machine with nothing of informerd but the package, just installed."""
    if not debian.is_fresh:
        debian.run("apt-get", "-y", "purge", "informerd", timeout=None)
        debian.install(package)
        debian.is_fresh = True
    return debian


@pytest.fixture(scope="session")
def next_version(package, tmp_path_factory):
    """The package of a version that is higher."""
    return repackaged(package, tmp_path_factory.mktemp("newer"), r"\1+newer")


@pytest.fixture
def running(fresh, api, authority):
    """The unit, after a kubeconfig, a file of two lines, and a start: a hook has run."""
    fresh.is_fresh = False
    api.apply(service("shop/web"))
    api.kubeconfig(fresh.path(KUBECONFIG), ca=authority)
    fresh.write("/etc/informerd/conf.d/50-first.conf", TWO_LINES)
    unit = Unit(fresh)
    assert fresh.run("informerd", "--check").stderr == ""
    started = unit.start()
    assert started.returncode == 0, started.stderr
    return unit


def lines(unit):
    """The output of the hook."""
    return re.findall(r'line="(\w+ services \S+ \(\w+\))"', "\n".join(unit.messages()))


def test_every_file_is_roots_and_only_roots_to_write(fresh):
    for name in fresh.check("dpkg", "-L", "informerd").splitlines():
        facts = os.stat(fresh.path(name))
        assert (facts.st_uid, facts.st_gid) == (0, 0), name
        assert stat.S_IMODE(facts.st_mode) & 0o7022 == 0, name
    for name in ("/usr/sbin/informerd", "/usr/bin/informerctl", "/usr/lib/informerd/hooks/print"):
        assert stat.S_IMODE(fresh.path(name).stat().st_mode) == 0o755, name


def test_the_files_are_where_debian_has_them(fresh):
    have = set(fresh.check("dpkg", "-L", "informerd").splitlines())
    share = "/usr/share"
    assert have >= {
        f"{share}/man/man8/informerd.8.gz", f"{share}/man/man5/informerd.conf.5.gz",
        f"{share}/man/man1/informerctl.1.gz", f"{share}/man/man7/informerd-hooks.7.gz",
        f"{share}/bash-completion/completions/informerctl",
        f"{share}/zsh/vendor-completions/_informerctl", f"{share}/doc/informerd/README.md",
        f"{share}/doc/informerd/docs/hooks.md", f"{share}/doc/informerd/examples/informerd.conf",
        f"{share}/doc/informerd/examples/haproxy.conf.example", "/etc/informerd/hooks",
        f"{share}/doc/informerd/examples/container/informerd.yaml",
        *(f"{share}/doc/informerd/observability/informerd.{name}"
          for name in ("rules.yml", "rules.test.yml", "dashboard.json"))}
    assert [name for name in sorted(have) if name.startswith("/etc/informerd/")
            and fresh.path(name).is_file()] == CONFFILES
    main = fresh.read("/etc/informerd/informerd.conf").splitlines()
    assert len(main) < 20 and all(line.startswith("#") for line in main)


def test_each_link_of_the_manual_leads_to_an_installed_file(fresh):
    listed = fresh.check("dpkg", "-L", "informerd").splitlines()
    pages = [name for name in listed if name.endswith(".md")]
    links = [(page, link) for page in pages for link in re.findall(r"\]\(([^)#:]+)[)#]", fresh.read(page))]
    assert any(link.startswith("screens/") and link.endswith(".png") for _, link in links)
    assert [(page, link) for page, link in links
            if os.path.normpath(os.path.join(os.path.dirname(page), link)) not in listed] == []


def test_the_alerts_name_a_runbook_that_is_installed(fresh):
    rules = fresh.read("/usr/share/doc/informerd/observability/informerd.rules.yml")
    for name, heading in set(re.findall(r"runbook: (\S+)#(\S+)", rules)):
        assert f"\n### {heading}\n" in fresh.read(name).lower()


def test_the_user_is_a_system_user_without_a_home_or_a_shell(fresh):
    fields = fresh.check("getent", "passwd", "informerd").strip().split(":")
    assert int(fields[2]) < 1000 and fields[5] == "/" and fields[6].endswith("nologin")


def test_the_service_is_enabled_and_not_started_and_nothing_has_failed(fresh):
    assert fresh.check("systemctl", "is-enabled", "informerd").strip() == "enabled"
    assert Unit(fresh).state() == ("inactive", "dead")
    assert fresh.check("systemctl", "--failed", "--plain", "--no-legend").strip() == ""
    assert not fresh.path("/var/lib/informerd").exists()


def test_the_installed_configuration_is_accepted(fresh):
    checked = fresh.run("informerd", "--check", "--no-files")
    assert (checked.returncode, checked.stderr) == (0, "")


def test_the_package_passes_its_autopkgtest(fresh):
    fresh.is_fresh = False
    script = ROOT / "packaging" / "debian" / "tests" / "installed"
    fresh.write("/var/tmp/installed", script.read_text(), 0o755)
    fresh.check("/var/tmp/installed")
    assert Unit(fresh).state() == ("inactive", "dead")


def test_a_kubeconfig_and_two_lines_make_a_hook_run(running, api):
    wait_until(lambda: lines(running) == ["ADDED services shop/web (existing)"])
    api.apply(service("shop/mail"))
    wait_until(lambda: "ADDED services shop/mail (change)" in lines(running))
    assert running.state() == ("active", "running")


def test_a_service_that_is_started_before_there_is_a_kubeconfig_waits_for_it(fresh, api, authority):
    fresh.is_fresh = False
    api.apply(service("shop/web"))
    fresh.write("/etc/informerd/conf.d/50-first.conf", TWO_LINES)
    unit = Unit(fresh)
    assert unit.start(wait=False).returncode == 0
    wait_until(lambda: f"waiting for {KUBECONFIG}" in unit.show("StatusText"))
    assert f"waiting for {KUBECONFIG}" in fresh.run("systemctl", "status", "informerd").stdout
    main = unit.show("MainPID")
    api.kubeconfig(fresh.path(KUBECONFIG), ca=authority)
    wait_until(lambda: lines(unit) == ["ADDED services shop/web (existing)"])
    wait_until(lambda: unit.state() == ("active", "running"))
    assert unit.show("MainPID") == main and unit.show("NRestarts") == "0"
    wait_until(lambda: unit.show("StatusText") == "1 of 1 watches synced, 1 hook")
    assert unit.main_filters() == 1


def test_a_reload_takes_a_new_file_and_a_bad_one_changes_nothing(running, fresh):
    main = running.show("MainPID")
    second = TWO_LINES.splitlines()[1].replace("print :", "second :")
    fresh.write("/etc/informerd/conf.d/60-second.conf", second + "\n")
    assert running.reload().returncode == 0
    wait_until(lambda: len(lines(running)) == 2)
    fresh.write("/etc/informerd/conf.d/70-bad.conf", "nonsense = 1;\n")
    assert running.reload().returncode != 0
    running.wait_message("70-bad.conf:1", "nonsense")
    assert running.state() == ("active", "running") and running.show("MainPID") == main


def test_kill_9_starts_it_anew_and_no_handled_state_runs_again(running, api):
    wait_until(lambda: len(lines(running)) == 1)
    os.kill(running.main, signal.SIGKILL)
    wait_until(lambda: running.show("NRestarts") == "1")
    wait_until(lambda: running.state() == ("active", "running"))
    api.apply(service("shop/mail"))
    wait_until(lambda: len(lines(running)) > 1)
    assert lines(running)[1:] == ["ADDED services shop/mail (change)"]


def test_an_upgrade_asks_nothing_restarts_the_service_and_keeps_the_state(running, fresh, api, package,
                                                                          next_version):
    expected = ["ADDED services shop/web (existing)"]
    wait_until(lambda: lines(running) == expected)
    fresh.write(CONFFILES[0], fresh.read(CONFFILES[0]) + "# edited\n")
    fresh.path(CONFFILES[1]).unlink()
    for deb, options in ((next_version, []), (package, ["--allow-downgrades"])):
        version, before = fresh.version(), running.show("MainPID")
        said = fresh.install(deb, *options)
        assert "onfiguration file" not in said, said
        assert fresh.version() != version
        assert fresh.read(CONFFILES[0]).endswith("# edited\n")
        assert not fresh.path(CONFFILES[1]).exists()
        wait_until(lambda: running.state() == ("active", "running"))
        assert running.show("MainPID") != before
        api.apply(service(f"shop/after{len(expected)}"))
        expected.append(f"ADDED services shop/after{len(expected)} (change)")
        wait_until(lambda: len(lines(running)) >= len(expected))
        assert lines(running) == expected


@pytest.mark.long
def test_an_upgrade_does_not_start_a_service_that_is_stopped(running, fresh, next_version):
    running.stop()
    fresh.install(next_version)
    assert running.state() == ("inactive", "dead")


@pytest.mark.long
@pytest.mark.parametrize("names_clusters", [True, False], ids=["with-clusters", "without"])
def test_an_installation_over_an_old_main_file_names_no_cluster_twice(fresh, package, next_version,
                                                                      names_clusters):
    """postinst: a main file with clusters needs no 10-cluster.conf, and an upgrade does not bring it back."""
    fresh.is_fresh = False
    fresh.check("apt-get", "-y", "purge", "informerd", timeout=None)
    old = 'include = [ "conf.d/*.conf" ];\n'
    if names_clusters:
        old += f'clusters : {{ prod : {{ kubeconfig = "{KUBECONFIG}"; }}; }};\n'
    fresh.write(CONFFILES[2], old, 0o600)
    for deb in (package, next_version):
        fresh.install(deb, "-o", "Dpkg::Options::=--force-confold")
        assert fresh.read(CONFFILES[2]) == old
        assert fresh.path(CONFFILES[0]).exists() != names_clusters
        checked = fresh.run("informerd", "--check", "--no-files")
        assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.long
def test_a_removal_stops_the_service_and_keeps_configuration_and_state(running, fresh, package):
    wait_until(lambda: len(lines(running)) == 1)
    fresh.check("apt-get", "-y", "remove", "informerd", timeout=None)
    assert not fresh.path("/run/informerd").exists() and not running.main
    assert fresh.path("/var/lib/informerd/state.db").exists()
    assert fresh.path(KUBECONFIG).exists()
    fresh.install(package)
    assert running.start().returncode == 0
    assert len(lines(running)) == 1


def test_a_purge_leaves_nothing(running, fresh):
    fresh.check("useradd", "--system", "member-of-group")
    fresh.check("usermod", "-aG", "informerd", "member-of-group")
    wait_until(fresh.path("/var/lib/informerd/state.db").exists)
    fresh.check("apt-get", "-y", "purge", "informerd", timeout=None)
    fresh.path(PACKAGE).unlink()
    left = fresh.check("find", "/", "-xdev", "-iname", "*informerd*", "!", "-path", "/.informerd*")
    assert left == ""
    assert not fresh.path("/run/informerd").exists()
    for table in ("passwd", "group"):
        assert fresh.run("getent", table, "informerd").returncode == 2
    assert fresh.run("dpkg-query", "-W", "informerd").returncode != 0
    assert fresh.check("systemctl", "--failed", "--plain", "--no-legend").strip() == ""


@pytest.mark.long
def test_a_purge_empties_a_state_folder_that_is_mounted_and_leaves_other_mounts(fresh, package, api,
                                                                                authority):
    fresh.is_fresh = False
    below = "/etc/informerd/hooks"
    fresh.check("mkdir", "-p", STATE)
    for folder in (STATE, below):
        fresh.check("mount", "-t", "tmpfs", "-o", "mode=0755", "none", folder)
    try:
        fresh.write(f"{below}/own", "#!/bin/sh\n", 0o755)
        api.kubeconfig(fresh.path(KUBECONFIG), ca=authority)
        fresh.write("/etc/informerd/conf.d/50-first.conf", TWO_LINES)
        assert Unit(fresh).start().returncode == 0
        wait_until(fresh.path(f"{STATE}/state.db").exists)
        fresh.check("apt-get", "-y", "purge", "informerd", timeout=None)
        assert fresh.check("find", STATE, "/etc/informerd").split() == [
            STATE, "/etc/informerd", below, f"{below}/own"]
        assert fresh.run("getent", "passwd", "informerd").returncode == 2
        assert fresh.run("dpkg-query", "-W", "informerd").returncode != 0
    finally:
        for folder in (STATE, below):
            fresh.check("umount", folder)
            fresh.check("rmdir", "-p", "--ignore-fail-on-non-empty", folder)
