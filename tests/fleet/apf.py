# SPDX-License-Identifier: Apache-2.0
"""One API server in virtual time: API Priority and Fairness in front of its cores and its network.

Rules and numbers of k8s.io/apiserver at 24a394e5 (master, 2026-07-23, on the way to 1.37):
pkg/apis/flowcontrol/bootstrap/default.go (levels), pkg/util/flowcontrol/apf_controller.go (seats of
a level, widest request 15 % of them), request/list_work_estimator.go (width of a list),
pkg/server/filters/priority-and-fairness.go (a request waits for 60 s / 4 at most), pkg/server/
config.go (400 + 200 requests in flight), dropped_requests_tracker.go (Retry-After 1..32 s).
"""
import collections
import heapq
import math

IN_FLIGHT = 400 + 200
SHARES = {"system": 30, "node-high": 40, "leader-election": 10, "workload-high": 40,
          "workload-low": 100, "global-default": 20, "catch-all": 5}
WAIT_LIMIT = 60 / 4
WIDEST = 100                # the most seats of one request, on any level (size based estimate)
BYTES_PER_SEAT = 100_000
STREAMED_AT_ONCE = 1_000_000
QUICK = 0.001               # seconds for which a request without a list holds its seat

# The size of one server; the cost of a list is in clients.py.
CORES = 8
NETWORK = 1250e6            # bytes per second: 10 Gbit/s
CLIENT_NETWORK = 125e6      # bytes per second to one client: 1 Gbit/s


class Level:
    """A priority level on one server: its seats, and how many requests may wait for them."""

    def __init__(self, name, shares=None, waiting=64 * 50, hand=6):
        total = sum(SHARES.values()) + (shares or 0)
        self.name, self.waiting = name, waiting
        self.seats = math.ceil(IN_FLIGHT * (shares or SHARES[name]) / total)
        self.widest = max(1, min(math.ceil(self.seats * 0.15), self.seats // hand, WIDEST))

    def width(self, stored):
        """The seats of a list from the watch cache whose objects have so many bytes in etcd."""
        return max(1, min(math.ceil(min(stored, STREAMED_AT_ONCE) / BYTES_PER_SEAT), self.widest))


class Clock:
    """Virtual time: calls the functions that are due, in the order of their times."""

    def __init__(self):
        self.now, self._due, self._count = 0.0, [], 0

    def at(self, when, what, *args):
        self._count += 1
        heapq.heappush(self._due, (when, self._count, what, args))

    def after(self, seconds, what, *args):
        self.at(self.now + seconds, what, *args)

    def run(self, until):
        while self._due and self._due[0][0] <= until:
            self.now, _count, what, args = heapq.heappop(self._due)
            what(*args)


class Meter:
    """The load of all servers, by seconds of virtual time."""

    def __init__(self):
        self.requests, self.bytes, self.handshakes = (collections.Counter() for _ in range(3))
        self.rejected = 0

    def spread(self, begin, seconds, size):
        """Counts `size` bytes, evenly over a span of time."""
        first, last = int(begin), int(begin + seconds)
        for second in range(first, last + 1):
            part = min(begin + seconds, second + 1) - max(begin, second)
            share = part / seconds if seconds > 0 else 1
            self.bytes[second] += size * share


class Refusals:
    """The Retry-After that a level gives to the requests that it rejects."""

    def __init__(self):
        self.seconds, self.changed, self.history, self.now = 1, 0, [], None

    def note(self, now):
        second = int(now)
        if self.history and self.history[-1][0] == second:
            self.history[-1][1] += 1
            return self.seconds
        recent = sum(n for at, n in self.history if second - at <= self.seconds)
        if second - self.changed >= self.seconds and recent >= 3 * self.seconds:
            self.seconds, self.changed = min(32, self.seconds * 2), second
        elif recent < self.seconds and self.seconds > 1:
            self.seconds -= 1
        self.history = [*self.history[-70:], [second, 1]]
        return self.seconds


class Server:
    """Takes requests: ask() calls done(None) at the end, or done(seconds of Retry-After)."""

    def __init__(self, clock, meter, level):
        self.clock, self.meter, self.level = clock, meter, level
        self.up, self.forgot = True, False
        self.used = self.lists = 0
        self.quick, self.wide = collections.deque(), collections.deque()
        self.refusals = Refusals()

    def ask(self, request, done):
        self.meter.requests[int(self.clock.now)] += 1
        entry = [request, done, True]
        if len(self.quick) + len(self.wide) >= self.level.waiting:
            self._refuse(entry)
            return
        (self.wide if request.stored else self.quick).append(entry)
        self._serve()
        if entry[2]:
            self.clock.after(WAIT_LIMIT, self._expire, entry)

    def _refuse(self, entry):
        entry[2] = False
        self.meter.rejected += 1
        entry[1](self.refusals.note(self.clock.now))

    def _expire(self, entry):
        if entry[2]:
            self._refuse(entry)
            self._serve()

    def _serve(self):
        """Starts requests while there are seats. Each agent is a flow of its own, and fair queuing
        lets flows with small requests go first."""
        for queue in (self.quick, self.wide):
            while queue:
                entry = queue[0]
                seats = self.level.width(entry[0].stored) if entry[0].stored else 1
                if entry[2] and self.used and self.used + seats > self.level.seats:
                    break
                queue.popleft()
                if entry[2]:
                    self._execute(entry, seats)

    def _execute(self, entry, seats):
        request = entry[0]
        entry[2] = False
        self.used += seats
        seconds = QUICK
        if request.stored:
            self.lists += 1
            rate = min(request.encode * min(1, CORES / self.lists), CLIENT_NETWORK,
                       NETWORK / self.lists)
            seconds += request.bytes / rate
        self.meter.spread(self.clock.now, seconds, request.bytes)
        self.clock.after(seconds, self._finish, entry, seats)

    def _finish(self, entry, seats):
        self.used -= seats
        self.lists -= bool(entry[0].stored)
        entry[1](None)
        self._serve()
