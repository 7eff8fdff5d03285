# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the cluster tests; see README.md for how to run them."""
import os
import pathlib
import shutil
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "wire")]

from shared_fixtures import checked_factory, skip_all  # noqa: E402
from subject import Cluster, ConfigMaps, Watched, Widgets  # noqa: E402


def pytest_collection_modifyitems(items):
    """Skips all tests where there is no cluster."""
    why = None
    config = os.environ.get("KUBECONFIG", "")
    if not config:
        why = "KUBECONFIG is not set"
    elif not pathlib.Path(config).is_file():
        why = f"KUBECONFIG has to name one file, not {config}"
    elif shutil.which("kubectl") is None:
        why = "needs kubectl"
    skip_all(items, why)


@pytest.fixture(scope="session")
def cluster():
    """The API server, with a namespace for this run alone."""
    made = Cluster(pathlib.Path(os.environ["KUBECONFIG"]).resolve())
    made.begin()
    yield made
    made.end()


@pytest.fixture(scope="session")
def widgets(cluster):
    """A custom resource for this run alone; its CRD is removed at the end."""
    made = Widgets(cluster)
    made.define()
    yield made
    made.remove()


@pytest.fixture(params=["configmaps", "widgets"])
def subject(request, cluster):
    """The resource that the test watches: first a built-in one, then a custom one."""
    if request.param == "widgets":
        return request.getfixturevalue("widgets")
    if not cluster.has("configmaps"):
        pytest.skip("the server has no ConfigMaps")
    return ConfigMaps(cluster)


@pytest.fixture
def factory(tmp_path):
    with checked_factory(tmp_path, authority=None) as made:
        yield made


@pytest.fixture
def hook(factory):
    return factory.hook()


@pytest.fixture
def watch(factory, cluster, hook):
    """watch(subject, tuning={...}, label_selector=...): a daemon with one watch and one hook. All
    objects that the test makes through it are removed at the end."""
    made = []

    def start(subject, tuning=None, **settings):
        made.append(Watched(factory, cluster, hook, subject))
        return made[-1].start(tuning or {}, settings)
    yield start
    for one in made:
        one.clear()
