# Errors have a reason.
from k8s_agent_sandbox import SandboxError, connect

with connect() as client:
    try:
        client.get("nothing")
    except SandboxError as error:
        print(error.reason)
# Output: NotFound
