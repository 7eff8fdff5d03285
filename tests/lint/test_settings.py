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
    (HOOKS, "SETTING_ROW(STR, shell", "SETTING_ROW(STR, shall", "hooks.shall is missing"),
    (HOOKS, r'SETTING_DEFAULT("\"0022\"")', r'SETTING_DEFAULT("\"0027\"")',
     'hooks.umask does not show its default, "0027"'),
])
def test_a_difference_is_found(tmp_path, name, old, new, message):
    shutil.copytree(TOP / "config", tmp_path / "config")
    shutil.copytree(TOP / "daemon/conf", tmp_path / "daemon/conf")
    text = (tmp_path / name).read_text()
    assert old in text
    (tmp_path / name).write_text(text.replace(old, new))
    code, output = run(tmp_path)
    assert code == 1
    assert message in output
