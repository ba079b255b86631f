"""Measures the reference's published client in its direct mode. Arguments: the data folder of a box, and a pool."""

import json
import os
import sys

from orders import Bench

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
Bench(
    create=lambda: client.create_sandbox(pool),
    attach=client.get_sandbox,
    delete=lambda sandbox: sandbox.terminate(),
    true="true",
).serve()
