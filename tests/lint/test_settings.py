# SPDX-License-Identifier: Apache-2.0
"""settings.py passes the tree as it is, and finds settings that are missing, made up or changed."""
import pathlib
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
TOP = HERE.parent.parent
MANUAL = "config/informerd.conf"
HOOKS = "daemon/conf/hook_conf.c"
PAGE = "packaging/man/informerd.conf.5"


def run(top):
    done = subprocess.run([sys.executable, str(HERE / "settings.py"), "--top", str(top)], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.returncode, done.stdout


def test_the_tree_passes():
    assert run(TOP) == (0, "")


@pytest.mark.parametrize("name, old, new, message", [
    (MANUAL, '    # kill_grace = "5s";\n', "", "hooks.kill_grace is missing"),
    (MANUAL, '# user = "informerd";', '# usr = "informerd";', "usr is in no table"),
    (MANUAL, '    # timeout = "30s";', '    # timeout = "31s";',
     'hooks.timeout does not show its default, "30s"'),
    (MANUAL, "    #   page_size = 500;", "    #   page_size = 50;",
     "clusters.tuning.page_size does not show its default, 500"),
    (MANUAL, "    #     tier = 1;", "    #     tier = 2;",
     "clusters.server.tier does not show its default, 1"),
    (HOOKS, "SETTING_HOOK_ROW(RENEWS, STR, shell", "SETTING_HOOK_ROW(RENEWS, STR, shall",
     "hooks.shall is missing"),
    (HOOKS, "SETTING_HOOK_ROW(RENEWS, STR, shell", "SETTING_ROW(STR, shell", "shell has no class"),
    (HOOKS, "SETTING_HOOK_ROW(RENEWS, STR, shell", "SETTING_HOOK_ROW(IN_PLACE, STR, shell",
     'shell is not in "A changed setting takes effect without a run"'),
    (PAGE, ".Cm timeout , kill_signal ,", ".Cm kill_signal ,", "timeout is not in"),
    (PAGE, ".Cm timeout , kill_signal ,", ".Cm timeout , umask , kill_signal ,", "umask is wrong in"),
    (HOOKS, r'SETTING_DEFAULT("\"0022\"")', r'SETTING_DEFAULT("\"0027\"")',
     'hooks.umask does not show its default, "0027"'),
])
def test_a_difference_is_found(tmp_path, name, old, new, message):
    shutil.copytree(TOP / "config", tmp_path / "config")
    shutil.copytree(TOP / "daemon/conf", tmp_path / "daemon/conf")
    (tmp_path / PAGE).parent.mkdir(parents=True)
    shutil.copy(TOP / PAGE, tmp_path / PAGE)
    text = (tmp_path / name).read_text()
    assert old in text
    (tmp_path / name).write_text(text.replace(old, new))
    code, output = run(tmp_path)
    assert code == 1
    assert message in output
