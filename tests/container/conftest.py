# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of the container image; ./dev container --long runs them."""
import os
import pathlib
import subprocess
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "wire"), str(TESTS / "handlers")]

import network  # noqa: E402
from shared_fixtures import api, authority, new_api, server_leaf, skip_all  # noqa: E402, F401


def pytest_collection_modifyitems(items):
    """Skips all tests without an image."""
    skip_all(items, None if os.environ.get("INFORMERD_IMAGE") else "INFORMERD_IMAGE names no image")


@pytest.fixture(scope="session", autouse=True)
def own_network():
    """The host network of the node that the pod is on: nothing but lo."""
    with network.Namespace() as made:
        yield made


@pytest.fixture(scope="session")
def image(tmp_path_factory):
    """The image, unpacked: rootfs/ and config.json, which is for runc."""
    bundle = tmp_path_factory.mktemp("image") / "bundle"
    subprocess.run(["umoci", "unpack", "--image", os.environ["INFORMERD_IMAGE"], bundle], check=True)
    return bundle


@pytest.fixture
def pod(image, api, authority, tmp_path):
    """The pod of packaging/container: pod.start()."""
    import pod as code
    made = code.Pod(image, api, authority, tmp_path / "pod")
    yield made
    made.finish()
