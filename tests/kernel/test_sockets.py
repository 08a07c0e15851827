# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Sockets: which families exist at all, and what a network that is denied as a whole leaves. Loopback only."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any, Iterator

import pytest
from support.inside import bare, grants, held, launch, policy, under
from support.launch import Lab, domain

FAMILIES = """
import socket
S, D, R = socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW
def make(family, kind, protocol=0):
    socket.socket(family, kind, protocol).close()
kinds = {"inet stream": (2, S), "inet datagram": (2, D), "inet6 stream": (10, S), "inet6 datagram": (10, D),
         "route": (16, R, 0), "inet stream, flags": (2, S | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC),
         "unix stream": (1, S), "unix datagram": (1, D), "unix seqpacket": (1, 5), "unix type 3": (1, 3),
         "packet": (17, R, 0), "algorithms": (38, 5), "vsock": (40, S), "bluetooth": (31, S), "can": (29, R, 1),
         "xdp": (44, R), "tipc": (30, S), "smc": (43, S), "rds": (21, 5), "appletalk": (5, D), "unspecified": (0, S),
         "audit": (16, R, 9), "firewall": (16, R, 12), "events": (16, R, 15), "connector": (16, R, 11),
         "sock_diag": (16, R, 4), "generic": (16, R, 16)}
def pair(family, kind):
    near, far = socket.socketpair(family, kind)
    near.sendall(b"own")
    assert far.recv(3) == b"own"
pairs = {"stream": (1, S), "seqpacket": (1, 5), "datagram": (1, D), "type 3": (1, 3)}
tell(sockets={name: attempt(make, *kind) for name, kind in kinds.items()},
     pairs={name: attempt(pair, *kind) for name, kind in pairs.items()})
"""
ALWAYS = ("inet stream", "inet datagram", "inet6 stream", "inet6 datagram", "route", "inet stream, flags")
PAIRS = {"stream": "ok", "seqpacket": "ok", "datagram": "EPERM", "type 3": "EPERM"}


def test_without_a_network_rule_the_internet_families_work_and_no_other(lab: Lab) -> None:
    done, control = held(lab, FAMILIES).told, bare(lab, FAMILIES).told
    assert {done["sockets"][name] for name in ALWAYS} == {"ok"}, done
    assert {answer for name, answer in done["sockets"].items() if name not in ALWAYS} == {"EAFNOSUPPORT"}, done
    assert done["pairs"] == PAIRS
    # a kernel that lacks a family gives the same answer by itself; these it has, for everybody
    for name in ("unix stream", "unix datagram", "unix seqpacket", "unix type 3", "events", "sock_diag"):
        assert control["sockets"][name] == "ok"
    assert set(control["pairs"].values()) == {"ok"}
    assert domain(lab.receipt(), "network_egress")["state"] == "unmeasured"


DENIALS: dict[str, dict[str, Any]] = {
    "an empty allow-list": {"network": {"allowlist": []}},
    "a denied capability": {"capabilities": {"deny": ["network_outbound"]}},
    "a denied capability beside a list": {
        "network": {"allowlist": ["127.0.0.1", "*"]}, "capabilities": {"deny": ["network_outbound"]},
    },
    "an allow-list of capabilities": {"capabilities": {"allow": ["file_read", "file_write", "terminal_exec"]}},
}  # fmt: skip


@pytest.mark.parametrize("denial", DENIALS)
def test_a_network_denied_as_a_whole_leaves_no_socket_of_any_family(lab: Lab, denial: str) -> None:
    text = policy(filesystem=grants([lab.workspace], [lab.workspace]), **DENIALS[denial])
    done = under(lab, text, FAMILIES)
    assert set(done.told["sockets"].values()) == {"EAFNOSUPPORT"}, done.stderr
    assert done.told["pairs"] == PAIRS
    line = domain(lab.receipt(), "network_egress")
    assert (line["requested"], line["state"], line["prevention_supported"]) == ("stated", "prevention", False)


# --- effects, seen by listeners outside ---


class Outside:
    """Listeners on loopback: what arrives at them came out of the boundary."""

    def __init__(self, path: Path) -> None:
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.unix = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.unix.bind(str(path))
        path.chmod(0o777)
        self.unix.listen()
        for each in (self.tcp, self.udp, self.unix):
            each.setblocking(False)
        self.arguments = (str(self.tcp.getsockname()[1]), str(self.udp.getsockname()[1]), str(path))

    def arrived(self) -> dict[str, list[bytes]]:
        """Return what has arrived since the last question; all senders have ended."""
        found: dict[str, list[bytes]] = {"tcp": [], "udp": [], "unix": []}
        for name, listener in (("tcp", self.tcp), ("unix", self.unix)):
            while True:
                try:
                    with listener.accept()[0] as came:
                        found[name].append(came.recv(100))
                except BlockingIOError:
                    break
        while True:
            try:
                found["udp"].append(self.udp.recv(100))
            except BlockingIOError:
                return found

    def close(self) -> None:
        for each in (self.tcp, self.udp, self.unix):
            each.close()


@pytest.fixture
def listeners(lab: Lab) -> Iterator[Outside]:
    made = Outside(lab.workspace / "listener")  # in the workspace, so that only the family can stop it
    try:
        yield made
    finally:
        made.close()


REACH = """
import socket
tcp, udp, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
def stream():
    with socket.socket() as made:
        made.connect(("127.0.0.1", tcp))
        made.sendall(b"stream")
def fast_open(send):
    with socket.socket() as made:
        send(made, ("127.0.0.1", tcp))
def mptcp():
    with socket.socket(2, 1, 262) as made:
        made.connect(("127.0.0.1", tcp))
        made.sendall(b"mptcp")
def mapped():
    with socket.socket(10, 1) as made:
        made.connect(("::ffff:127.0.0.1", tcp))
        made.sendall(b"mapped")
def datagram():
    with socket.socket(2, 2) as made:
        made.sendto(b"datagram", ("127.0.0.1", udp))
def unix():
    with socket.socket(1, 1) as made:
        made.connect(path)
        made.sendall(b"unix")
def through_a_pair():
    socket.socketpair()[0].connect(path)
def listen():
    with socket.socket() as made:
        made.listen()
FAST = 0x20000000
ways = {"stream": stream, "sendto, fast": lambda: fast_open(lambda made, to: made.sendto(b"fast", FAST, to)),
        "sendmsg, fast": lambda: fast_open(lambda made, to: made.sendmsg([b"fast"], [], FAST, to)),
        "mptcp": mptcp, "mapped": mapped, "datagram": datagram, "unix": unix, "listen": listen}
tell(**{name: attempt(way) for name, way in ways.items()}, pair=attempt(through_a_pair))
"""


def test_nothing_arrives_outside_when_the_network_is_denied(lab: Lab, listeners: Outside) -> None:
    text = policy(filesystem=grants([lab.workspace], [lab.workspace]), network={"allowlist": []})
    done = under(lab, text, REACH, *listeners.arguments)
    pair = done.told.pop("pair")
    assert set(done.told.values()) == {"EAFNOSUPPORT"}, done.stderr
    assert pair == "EISCONN"  # an end of a pair is connected already, so it leads nowhere else
    assert listeners.arrived() == {"tcp": [], "udp": [], "unix": []}
    control = bare(lab, REACH, *listeners.arguments).told
    assert {control[name] for name in ("stream", "datagram", "unix", "listen", "mapped")} == {"ok"}
    arrived = listeners.arrived()
    assert b"stream" in arrived["tcp"] and arrived["udp"] == [b"datagram"] and arrived["unix"] == [b"unix"]


def test_a_path_socket_is_out_of_reach_with_the_network_left_open(lab: Lab, listeners: Outside) -> None:
    done = held(lab, REACH, *listeners.arguments).told
    assert (done["unix"], done["pair"], done["stream"], done["datagram"]) == ("EAFNOSUPPORT", "EISCONN", "ok", "ok")
    arrived = listeners.arrived()
    assert arrived["unix"] == [] and b"stream" in arrived["tcp"] and arrived["udp"] == [b"datagram"]


# --- an inherited socket: a stated limit ---

WRITE = "import socket\ntell(send=attempt(os.write, int(sys.argv[1]), b'sent'), new=attempt(socket.socket))"


def connected() -> tuple[socket.socket, socket.socket]:
    """Return both ends of a connection over loopback."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        near = socket.create_connection(server.getsockname())
        return near, server.accept()[0]


def test_a_connected_socket_works_as_standard_input_which_is_stated(lab: Lab) -> None:
    text = policy(filesystem=grants([lab.workspace], [lab.workspace]), network={"allowlist": []})
    near, far = connected()
    with near, far:
        assert under(lab, text, WRITE, "0", stdin=near).told == {"send": "ok", "new": "EAFNOSUPPORT"}
        assert far.recv(100) == b"sent"


def test_a_connected_socket_at_another_descriptor_is_closed(lab: Lab) -> None:
    text = policy(filesystem=grants([lab.workspace], [lab.workspace]), network={"allowlist": []})
    near, far = connected()
    with near, far:
        number, given = str(near.fileno()), {"pass_fds": [near.fileno()]}
        assert bare(lab, WRITE, number, **given).told == {"send": "ok", "new": "ok"}
        assert far.recv(100) == b"sent"
        assert under(lab, text, WRITE, number, **given).told == {"send": "EBADF", "new": "EAFNOSUPPORT"}
        near.close()
        assert far.recv(100) == b""


# --- what this backend cannot hold is refused before anything runs ---


@pytest.mark.parametrize("host", ["127.0.0.1", "api.example.com", "*.example.com", "*", "::1"])
def test_single_destinations_are_refused_before_a_launch(lab: Lab, host: str) -> None:
    mark = lab.workspace / "ran"
    text = policy(filesystem=grants([], [lab.workspace]), network={"allowlist": [host]})
    done = launch(lab, text, "/bin/touch", str(mark))
    assert done.returncode == 125 and not mark.exists() and done.stdout == ""
    assert done.stderr.startswith("error: refusing to launch: ")
    assert "network_egress (network.allowlist): single destinations are not held by this backend yet" in done.stderr
    assert [record["event"] for record in lab.ledger()] == ["refused"]
    assert lab.receipts() == [] and lab.leftovers() == []
