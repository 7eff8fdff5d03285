# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the cluster tests; see README.md for how to run them."""
import os
import pathlib
import shutil
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "wire")]

import harness  # noqa: E402
from subject import Cluster, ConfigMaps, Watched, Widgets  # noqa: E402


def pytest_collection_modifyitems(items):
    """Without a cluster, none runs."""
    why = None
    config = os.environ.get("KUBECONFIG", "")
    if not config:
        why = "KUBECONFIG is not set"
    elif not pathlib.Path(config).is_file():
        why = f"KUBECONFIG has to name one file, not {config}"
    elif shutil.which("kubectl") is None:
        why = "needs kubectl"
    for item in items if why else []:
        item.add_marker(pytest.mark.skip(reason=why))


@pytest.fixture(scope="session")
def cluster():
    """The API server, with a namespace of this run's own."""
    made = Cluster(pathlib.Path(os.environ["KUBECONFIG"]).resolve())
    made.begin()
    yield made
    made.end()


@pytest.fixture(scope="session")
def widgets(cluster):
    """A custom resource of this run's own; its CRD goes at the end."""
    made = Widgets(cluster)
    made.define()
    yield made
    made.remove()


@pytest.fixture(params=["configmaps", "widgets"])
def subject(request, cluster):
    """What the test watches: a built-in and a custom resource, one after the other."""
    if request.param == "widgets":
        return request.getfixturevalue("widgets")
    if not cluster.has("configmaps"):
        pytest.skip("the server has no ConfigMaps")
    return ConfigMaps(cluster)


@pytest.fixture
def factory(tmp_path):
    if not harness.INFORMERD.exists():
        pytest.fail(f"{harness.INFORMERD} is not built (INFORMERD_BUILD names a build folder)")
    made = harness.Factory(tmp_path, None)
    yield made
    made.finish()


@pytest.fixture
def hook(factory):
    return factory.hook()


@pytest.fixture
def watch(factory, cluster, hook):
    """watch(subject, tuning={...}, label_selector=...): a daemon with one watch and one hook; all
    objects that the test makes through it go at the end."""
    made = []

    def start(subject, tuning=None, **settings):
        made.append(Watched(factory, cluster, hook, subject))
        return made[-1].start(tuning or {}, settings)
    yield start
    for one in made:
        one.clear()
