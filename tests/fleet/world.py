# SPDX-License-Identifier: Apache-2.0
"""A fleet of agents and three API servers in virtual time; the same seed gives the same world."""
import dataclasses
import random

from apf import Clock, Meter, Server

SERVERS = 3
BACKOFF_FIRST, BACKOFF_MAX, HTTP_RETRIES = 0.8, 30, 10
STREAM_LIFE = 300, 600      # seconds, drawn anew each time
BOOKMARK_EVERY = 60
CHANGES = 1.0               # of EndpointSlices per second in the whole cluster
RTT = 0.001
HANDSHAKE = 0.005           # seconds
SILENCE = 0.5               # seconds: a resumed watch that is silent for so long is in sync


@dataclasses.dataclass
class Request:
    """bytes: on the wire; stored: bytes in etcd, 0 for a request that is not a list; encode: the
    bytes per second that one core makes."""
    bytes: float
    stored: float = 0
    encode: float = 1


class Task:
    """One stream of an agent on its way to being in sync: lists, waits, watches."""

    def __init__(self, agent, stream, has_version):
        self.agent, self.stream = agent, stream
        self.has_version = has_version      # whether it can watch without a list
        self.old = has_version              # whether that version is from before the start
        self.step = self.retries = 0
        self.server = None
        self.placed = False

    def wait(self, then, at_least=0.0, more=0.0):
        low = min(BACKOFF_FIRST * 2 ** self.step, BACKOFF_MAX)
        self.step += 1
        seconds = max(low * (1 + self.agent.rng.random()), at_least) + more
        self.agent.world.clock.after(seconds, then)

    def begin(self):
        if self.has_version:
            self.watch()
        else:
            self.agent.enter_gate(self)

    def list(self):
        """Sends the list, now that the list gate has let this task in."""
        self.placed = True
        how = self.agent.client.relist if self.old else self.agent.client.start
        self.ask(Request(self.stream.list_bytes, self.stream.stored, self.stream.encode),
                 lambda refused: self.listed(refused, how))

    def listed(self, refused, how):
        self.leave()
        if refused is not None:
            self.refused(refused)
            return
        self.has_version, self.old = True, False
        if how == "stream":
            self.agent.synced(self)
        else:
            self.watch()

    def leave(self):
        if self.placed:
            self.placed = False
            self.agent.leave_gate()

    def watch(self):
        self.ask(Request(self.agent.client.renewal + self.agent.missed), self.watched)

    def watched(self, refused):
        if refused is not None:
            self.refused(refused)
        elif self.server.forgot and self.old:
            self.has_version = False
            self.wait(self.begin, more=self.agent.jitter(self.agent.client.relist_jitter))
        elif self.old and self.agent.client.start == "warm":
            self.agent.world.clock.after(SILENCE, self.agent.synced, self)
        else:
            self.agent.synced(self)

    def refused(self, seconds):
        """The server has answered 429 with this Retry-After."""
        self.retries += 1
        if self.agent.client.obeys_exactly and self.retries % (HTTP_RETRIES + 1):
            self.agent.world.clock.after(seconds, self.begin)
        else:
            self.wait(self.begin, at_least=seconds)

    def ask(self, request, done):
        """Sends a request over the task's connection, or over a new one. If no server is up, the
        task tries again later."""
        delay = RTT
        if self.server is None or not self.server.up:
            self.server = self.agent.connect()
            delay += HANDSHAKE
        if self.server is None:
            self.leave()
            self.wait(self.begin)
            return
        self.agent.world.clock.after(delay, self.server.ask, request, done)


class Agent:
    """One process of the fleet."""

    def __init__(self, world, client, seed):
        self.world, self.client = world, client
        self.rng = random.Random(seed)
        self.sessions = set()
        self.shared = None
        self.lists, self.queue = 0, []
        self.left = 0
        self.began = 0.0
        self.missed = 0.0
        self.held = []

    def jitter(self, most):
        return self.rng.uniform(0, most) if most else 0.0

    def start(self, gap=0.0):
        """The process begins; a warm start gets the changes that it missed in the gap before."""
        client, clock = self.client, self.world.clock
        self.began = clock.now
        warm = client.start == "warm"
        self.missed = gap * CHANGES * client.event / len(client.streams) if warm else 0.0
        tasks = [Task(self, stream, warm) for stream in client.streams]
        self.left = len(tasks)
        asked = self.jitter(client.start_jitter)
        clock.after(asked, self.identify, tasks[0])
        if client.first_alone:
            self.held, tasks = tasks[1:], tasks[:1]
        for task in tasks:
            clock.after(asked if warm else self.jitter(client.start_jitter), task.begin)

    def identify(self, task):
        """An agent with state asks for the cluster's identity, on which resumed streams wait."""
        asker = Task(self, task.stream, False) if self.client.gets_alone else task
        for _ in range(self.client.gets):
            asker.ask(Request(self.client.renewal), lambda _refused: None)

    def connect(self):
        """A server that is up, or None; counts full handshakes."""
        client, world = self.client, self.world
        if client.one_connection and self.shared is not None and self.shared.up:
            return self.shared
        up = [server for server in world.servers if server.up]
        if not up:
            return None
        server = self.rng.choice(up)
        if not client.keeps_sessions or server not in self.sessions:
            world.meter.handshakes[int(world.clock.now)] += 1
            world.meter.bytes[int(world.clock.now)] += client.handshake
        self.sessions.add(server)
        self.shared = server
        return server

    def enter_gate(self, task):
        if self.lists < self.client.list_concurrency:
            self.lists += 1
            task.list()
        else:
            self.queue.append(task)

    def leave_gate(self):
        self.lists -= 1
        if self.queue:
            self.lists += 1
            self.queue.pop(0).list()

    def synced(self, _task):
        self.left -= 1
        held, self.held = self.held, []
        for task in held:
            task.begin()
        if self.left == 0:
            self.world.waits.append(self.world.clock.now - self.began)
            self.world.last = self.world.clock.now


class World:
    """The servers, the agents, and the figures."""

    def __init__(self, client, agents, level, seed=1):
        self.clock, self.meter = Clock(), Meter()
        self.servers = [Server(self.clock, self.meter, level) for _ in range(SERVERS)]
        self.rng = random.Random(f"{seed} {client.name} {agents}")
        self.agents = [Agent(self, client, f"{seed} {client.name} {n}") for n in range(agents)]
        self.client, self.waits, self.last = client, [], 0.0

    # Events

    def start(self):
        """Power is back: every agent begins within one second."""
        for agent in self.agents:
            self.clock.at(self.rng.random(), agent.start)
        return self.finish()

    def upgrade(self, share, gap):
        """A share of the fleet restarts at a time; each agent is away for about gap seconds."""
        slots = [[] for _ in range(max(1, round(len(self.agents) * share)))]
        for number, agent in enumerate(self.agents):
            slots[number % len(slots)].append(agent)
        for slot in slots:
            when = self.rng.uniform(0, gap)
            for agent in slot:
                away = gap * self.rng.uniform(0.8, 1.2)
                when += away
                self.clock.at(when, agent.start, away)
        return self.finish()

    def trickle(self, seconds, gap):
        """Each agent restarts at a random time of a span, as with a package manager that has a
        random delay."""
        for agent in self.agents:
            self.clock.at(self.rng.uniform(0, seconds), agent.start, gap)
        return self.finish()

    def lose(self):
        """One of the servers dies while it has open streams."""
        self.attach()
        self.servers[0].up = False
        self.reopen()
        return self.finish()

    def restart_all(self, seconds):
        """All servers are away for so many seconds, and come back with empty watch caches."""
        self.attach()
        for server in self.servers:
            server.up = False
        self.reopen()
        self.clock.at(seconds, self.back)
        return self.finish()

    def steady(self, seconds):
        """Only renewals, bookmarks and changes, for so many seconds."""
        low, high = STREAM_LIFE
        client = self.client
        for agent in self.agents:
            for _stream in client.streams:
                when = agent.rng.uniform(-high, 0)
                while when < seconds:
                    if when >= 0:
                        self.meter.requests[int(when)] += 1
                        self.meter.bytes[int(when)] += client.renewal
                    when += agent.rng.uniform(low, high)
        each = client.bookmark * len(client.streams) / BOOKMARK_EVERY + CHANGES * client.event
        for second in range(int(seconds)):
            self.meter.bytes[second] += each * len(self.agents)
        return self

    # Steps of these events

    def attach(self):
        for agent in self.agents:
            shared = agent.rng.choice(self.servers)
            agent.tasks = []
            for stream in self.client.streams:
                task = Task(agent, stream, True)
                one = self.client.one_connection
                task.server = shared if one else agent.rng.choice(self.servers)
                agent.sessions.add(task.server)
                agent.tasks.append(task)
            agent.shared = shared

    def reopen(self):
        """Begins the streams again whose server is gone."""
        for agent in self.agents:
            broken = [task for task in agent.tasks if not task.server.up]
            agent.left = len(broken)
            if broken:
                agent.shared = None
            for task in broken:
                task.server = None
                if self.client.reopens_at_once:
                    self.clock.after(agent.rng.uniform(0, 0.1), task.begin)
                else:
                    task.wait(task.begin)

    def back(self):
        for server in self.servers:
            server.up = server.forgot = True
        for agent in self.agents:
            agent.sessions.clear()

    def finish(self):
        self.clock.run(float("inf"))
        return self

    # Figures

    def figures(self):
        meter, waits = self.meter, sorted(self.waits)
        return {"requests": sum(meter.requests.values()),
                "peak_requests": max(meter.requests.values(), default=0),
                "gigabytes": sum(meter.bytes.values()) / 1e9,
                "peak_megabytes": max(meter.bytes.values(), default=0) / 1e6,
                "peak_handshakes": max(meter.handshakes.values(), default=0),
                "rejected": meter.rejected, "last": self.last,
                "p99": waits[int(0.99 * (len(waits) - 1))] if waits else 0.0}
