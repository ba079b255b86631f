"""Serves all hosts outside the machine under attack: accepts connections, responds with the address, and logs what it received."""

import json
import os
import socket
import struct
import subprocess
import sys
import threading

addresses = json.loads(os.environ["ADDRESSES"])
machine = os.environ["MACHINE"]
log = open(sys.argv[1], "a", buffering=1)
lock = threading.Lock()


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def on_machine(*words):
    subprocess.run(["nsenter", "--target", machine, "--net", "ip", *words], check=True)


def connect():
    ip("link", "set", "lo", "up")
    ip("link", "add", "out0", "type", "veth", "peer", "name", "eth0", "netns", machine)
    ip("addr", "add", addresses["gateway"] + "/24", "dev", "out0")
    ip("link", "set", "out0", "up")
    for name in ("public", "linkLocal", "private", "nameServer"):
        ip("addr", "add", addresses[name] + "/32", "dev", "lo")
    on_machine("addr", "add", addresses["machine"] + "/24", "dev", "eth0")
    on_machine("link", "set", "eth0", "up")
    on_machine("route", "add", "default", "via", addresses["gateway"])


def note(protocol, address, port, data):
    text = data.decode("latin-1")
    with lock:
        log.write(json.dumps({"protocol": protocol, "address": address, "port": port, "text": text}) + "\n")


def answer(connection):
    address, port = connection.getsockname()
    note("tcp", address, port, b"")
    connection.settimeout(5)
    try:
        note("tcp", address, port, connection.recv(65536))
    except OSError:
        pass
    body = f"outside {address}:{port}\n".encode()
    try:
        connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    except OSError:
        pass
    connection.close()


def serve(port):
    server = socket.create_server(("0.0.0.0", port), backlog=64)
    while True:
        connection, _ = server.accept()
        threading.Thread(target=answer, args=(connection,), daemon=True).start()


def serve_names():
    """Every name has the public address."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((addresses["nameServer"], 53))
    while True:
        question, caller = server.recvfrom(4096)
        note("udp", addresses["nameServer"], 53, question)
        if len(question) < 17:
            continue
        end = question.index(b"\0", 12) + 5
        record = struct.pack(">HHHIH", 0xC00C, 1, 1, 30, 4) + socket.inet_aton(addresses["public"])
        is_address = question[end - 4 : end - 2] == b"\0\1"
        head = question[:2] + struct.pack(">HHHHH", 0x8180, 1, 1 if is_address else 0, 0, 0)
        server.sendto(head + question[12:end] + (record if is_address else b""), caller)


connect()
for each in addresses["ports"]:
    threading.Thread(target=serve, args=(each,), daemon=True).start()
threading.Thread(target=serve_names, daemon=True).start()
log.write("ready\n")
threading.Event().wait()
