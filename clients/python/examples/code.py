# Code that keeps its variables between calls, and over a sleep.
from k8s_agent_sandbox import connect

with connect() as client, client.create(image="host", suspend_depth="Memory") as sandbox:
    sandbox.run_code("visits = 41")
    sandbox.suspend()
    sandbox.resume()
    print(sandbox.run_code("visits + 1").text)
# Output: 42
