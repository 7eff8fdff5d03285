# SPDX-License-Identifier: Apache-2.0
"""A list of requests that a test can compare without a race."""
import time

from patience import PATIENCE


class Asked(list):
    """The requests so far. A comparison with a longer list, also of a slice, waits until as many
    requests have come, or another one than the list says: the client may already show a state whose
    request it is only about to send."""

    def __init__(self, read):
        super().__init__(read())
        self._read = read

    def __getitem__(self, at):
        if isinstance(at, slice):
            return Asked(lambda: self._read()[at])
        return super().__getitem__(at)

    def __eq__(self, other):
        end = time.monotonic() + PATIENCE
        while list(self) == other[:len(self)] != other and time.monotonic() < end:
            time.sleep(0.01)
            self[:] = self._read()
        return list(self) == other

    def __ne__(self, other):
        return not self == other

    __hash__ = None
