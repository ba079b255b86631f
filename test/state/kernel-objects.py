"""Holds many kinds of kernel objects, and on request uses each of them and says whether it still works. The first request tells that
everything is ready, the second one is sent after a resume."""

import ctypes
import errno
import fcntl
import hashlib
import http.server
import json
import mmap
import os
import pty
import resource
import select
import signal
import socket
import struct
import sys
import threading
import time

mebibytes, file_count, thread_count = (int(word) for word in sys.argv[1:4])
checks = {}


def check(function):
    """`function` prepares something, and returns the function that uses it later."""
    checks[function.__name__] = function()
    return function


def read_until(file, text):
    seen, deadline = b"", time.monotonic() + 20
    while text not in seen and time.monotonic() < deadline:
        if select.select([file], [], [], 1)[0]:
            seen += os.read(file, 4096)
    return text in seen


def udp(family, address):
    try:
        one, other = (socket.socket(family, socket.SOCK_DGRAM) for _ in range(2))
        one.bind((address, 0))
    except OSError as error:
        # The Pod has no such address.
        return lambda: errno.errorcode[error.errno]
    other.connect(one.getsockname())
    one.settimeout(10)

    def use():
        other.send(b"datagram")
        return one.recv(100) == b"datagram"

    return use


@check
def memory():
    # Not compressible, so that no page can be left out.
    block = os.urandom(1 << 20)
    pages = [block[:-4] + struct.pack("I", index) for index in range(mebibytes)]
    digest = lambda: hashlib.blake2b(b"".join(hashlib.blake2b(page).digest() for page in pages)).hexdigest()
    before = digest()
    return lambda: digest() == before


@check
def inotify():
    libc = ctypes.CDLL(None, use_errno=True)
    os.mkdir("/root/watched")
    watch = libc.inotify_init1(os.O_NONBLOCK)
    libc.inotify_add_watch(watch, b"/root/watched", 0x100)  # IN_CREATE

    def use():
        open("/root/watched/new", "w").close()
        select.select([watch], [], [], 10)
        return b"new" in os.read(watch, 4096)

    return use


@check
def epoll():
    read, write = os.pipe()
    waiting = select.epoll()
    waiting.register(read, select.EPOLLIN)

    def use():
        nothing = waiting.poll(0)
        os.write(write, b"x")
        return nothing == [] and waiting.poll(10) == [(read, select.EPOLLIN)] and os.read(read, 9) == b"x"

    return use


@check
def timers():
    """A repeating timer of the process, and one that expires while the sandbox is asleep or soon after."""
    ticks, fired = [0], threading.Event()

    def tick(*_):
        ticks[0] += 1

    signal.signal(signal.SIGALRM, tick)
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
    once = threading.Timer(5, fired.set)
    once.daemon = True
    once.start()

    def use():
        before, deadline = ticks[0], time.monotonic() + 20
        while ticks[0] < before + 3 and time.monotonic() < deadline:
            time.sleep(0.05)
        return ticks[0] >= before + 3 and fired.wait(20)

    return use


@check
def wall_clock():
    return lambda: time.time()


@check
def pseudo_terminal():
    child, terminal = pty.fork()
    if child == 0:
        os.execlp("sh", "sh", "-c", "while read line; do echo got-$line; done")
    os.write(terminal, b"first\n")
    read_until(terminal, b"got-first")

    def use():
        os.write(terminal, b"second\n")
        return read_until(terminal, b"got-second")

    return use


@check
def udp_sockets():
    return udp(socket.AF_INET, "127.0.0.1")


@check
def ipv6_sockets():
    return udp(socket.AF_INET6, "::1")


@check
def half_closed_sockets():
    one, other = socket.socketpair()
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        accepted, _ = server.accept()
    for closing in (one, client):
        closing.shutdown(socket.SHUT_WR)

    def use():
        for closed, peer in ((one, other), (client, accepted)):
            peer.sendall(b"still")
            if peer.recv(10) != b"" or closed.recv(10) != b"still":
                return False
        return True

    return use


@check
def shared_memory():
    """Between two processes: anonymous, and a file in memory."""
    anonymous = mmap.mmap(-1, 4096)
    with open("/dev/shm/shared", "wb+") as file:
        file.truncate(4096)
        named = mmap.mmap(file.fileno(), 4096)
    child = os.fork()
    if child == 0:
        signal.setitimer(signal.ITIMER_REAL, 0)
        while True:
            for area in (anonymous, named):
                if area[0] != 0:
                    area[1] = area[0] + 1
            time.sleep(0.02)

    def use():
        for area in (anonymous, named):
            area[0] = 6
        deadline = time.monotonic() + 20
        while (anonymous[1], named[1]) != (7, 7) and time.monotonic() < deadline:
            time.sleep(0.02)
        return (anonymous[1], named[1]) == (7, 7)

    return use


@check
def file_locks():
    file = open("/root/lock", "w")
    fcntl.flock(file, fcntl.LOCK_EX)

    def use():
        with open("/root/lock", "w") as second:
            try:
                fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return not file.closed
        return False

    return use


@check
def open_files():
    """After what uses `select`, which cannot watch high descriptors. Each file is open four times: gVisor needs two descriptors of
    the machine for a file, whose number is limited too."""
    limit = file_count + 1000
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, max(limit, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
    os.mkdir("/root/files")
    files = []
    for index in range(file_count // 4):
        file = os.open(f"/root/files/{index}", os.O_RDWR | os.O_CREAT)
        os.write(file, b"%d" % index)
        files.append((index, file))
        files.extend((index, os.open(f"/root/files/{index}", os.O_RDONLY)) for _ in range(3))
    return lambda: all(os.pread(file, 100, 0) == b"%d" % index for index, file in files)


@check
def threads():
    threading.stack_size(64 * 1024)
    go, counted, lock = threading.Event(), [0], threading.Lock()

    def wait():
        go.wait()
        with lock:
            counted[0] += 1

    started = [threading.Thread(target=wait, daemon=True) for _ in range(thread_count)]
    for thread in started:
        thread.start()

    def use():
        go.set()
        for thread in started:
            thread.join(20)
        return counted[0] == thread_count

    return use


class Checks(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        used = {name: use() for name, use in checks.items()} if self.path == "/use" else sorted(checks)
        body = json.dumps(used).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


http.server.HTTPServer(("", 8000), Checks).serve_forever()
