"""A stretch of network between a gateway and its database, as a process: `python -m tests.bench.scale.wire PORT [ONE_WAY_MS]`.

It prints the port it listens on. Each piece arrives `ONE_WAY_MS` after it was sent: by threads, as an event loop's clock is too
coarse for less than a millisecond. For each line on its input it prints how many round trips there were since the last: how often
a client spoke after its server had. Stopped (SIGSTOP) it is a network that has gone away without a word.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import sys
import threading
import time

_trips = 0
_counting = threading.Lock()


def serve(port: int, one_way_s: float) -> None:
    listening = socket.create_server(("127.0.0.1", 0), backlog=256)
    print(listening.getsockname()[1], flush=True)
    threading.Thread(target=_told, daemon=True).start()
    while True:
        client, _ = listening.accept()
        try:
            server = socket.create_connection(("127.0.0.1", port))
        except OSError:  # there is no server at the moment
            client.close()
            continue
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        spoke = [server]  # who spoke last
        for source, sink in ((client, server), (server, client)):
            line: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()
            threading.Thread(target=_hear, args=(source, line, spoke, server, one_way_s), daemon=True).start()
            threading.Thread(target=_pass_on, args=(sink, line), daemon=True).start()


def _hear(
    source: socket.socket,
    line: queue.SimpleQueue[tuple[float, bytes]],
    spoke: list[socket.socket],
    server: socket.socket,
    one_way_s: float,
) -> None:
    global _trips
    while True:
        try:
            data = source.recv(65_536)
        except OSError:
            data = b""
        line.put((time.perf_counter() + one_way_s, data))
        if not data:
            return
        with _counting:
            _trips += source is not server and spoke[0] is server
            spoke[0] = source


def _pass_on(sink: socket.socket, line: queue.SimpleQueue[tuple[float, bytes]]) -> None:
    while True:
        due, data = line.get()
        if (left := due - time.perf_counter()) > 0:
            time.sleep(left)
        with contextlib.suppress(OSError):
            sink.sendall(data)
        if not data:
            with contextlib.suppress(OSError):
                sink.shutdown(socket.SHUT_RDWR)  # who hears it ends, too
            sink.close()
            return


def _told() -> None:
    global _trips
    for _ in sys.stdin:
        with _counting:
            print(_trips, flush=True)
            _trips = 0


if __name__ == "__main__":
    serve(int(sys.argv[1]), float(sys.argv[2]) / 1000 if len(sys.argv) > 2 else 0)
