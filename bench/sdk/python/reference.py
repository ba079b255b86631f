"""Measures the reference's published client in its direct mode. Arguments: the data folder of a box, and a pool."""

import json
import os
import sys
import time

from orders import milliseconds_since, require, serve, timed

_, data_dir, pool = sys.argv
os.environ["KUBECONFIG"] = f"{data_dir}/kubeconfig"

import yaml  # noqa: E402
from k8s_agent_sandbox import SandboxClient  # noqa: E402
from k8s_agent_sandbox.models import SandboxDirectConnectionConfig  # noqa: E402

with open(f"{data_dir}/kubeconfig", encoding="utf-8") as file:
    token = yaml.safe_load(file)["users"][0]["user"]["token"]
with open(f"{data_dir}/box.json", encoding="utf-8") as file:
    router = json.load(file)["routerUrl"]
headers = {"Authorization": f"Bearer {token}"}
client = SandboxClient(SandboxDirectConnectionConfig(api_url=router, extra_headers=headers))
opened = None


def first():
    started = time.perf_counter()
    sandbox = client.create_sandbox(pool)
    ready_ms = milliseconds_since(started)
    stdout = sandbox.commands.run("echo ready").stdout
    ms = milliseconds_since(started)
    require(stdout == "ready\n", stdout)
    sandbox.terminate()
    return {"ms": ms, "ready_ms": ready_ms}


def open_sandbox(sandbox):
    global opened
    opened = client.get_sandbox(sandbox)
    return {"ms": 0}


def execute():
    return timed(lambda: opened.commands.run("true"))


def write(path, bytes):
    content = b"agent-sandbox\x00\xff\n" * (bytes // 16)
    return timed(lambda: opened.files.write(path, content))


def read(path, bytes):
    def work():
        size = len(opened.files.read(path))
        require(size == bytes, size)

    return timed(work)


serve({"first": first, "open": open_sandbox, "exec": execute, "write": write, "read": read})
