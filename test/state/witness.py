"""Counts in memory and in a file when it is told to, and answers each line of a TCP connection with what it knows. `identity`
is chosen when the program starts: a program that was started again has another one."""

import asyncio
import json
import os
import socket

identity = os.urandom(8).hex()
count = 0


def read(path):
    with open(path) as file:
        return file.read()


def write_count():
    with open("/root/count", "w") as file:
        file.write(str(count))


def environment():
    lines = read("/run/agent-sandbox/environment").splitlines()
    return dict(line.split("=", 1) for line in lines)


async def serve(reader, writer):
    global count
    while line := await reader.readline():
        if line == b"count\n":
            count += 1
            write_count()
        known = {
            "identity": identity,
            "count": count,
            "file": int(read("/root/count")),
            "epoch": int(environment()["SANDBOX_EPOCH"]),
            "name": environment()["SANDBOX_NAME"],
            "hostname": socket.gethostname(),
            "random": os.urandom(8).hex(),
        }
        writer.write(json.dumps(known).encode() + b"\n")
        await writer.drain()
    writer.close()


async def main():
    await asyncio.start_server(serve, "0.0.0.0", 9000)
    await asyncio.Event().wait()


write_count()
asyncio.run(main())
