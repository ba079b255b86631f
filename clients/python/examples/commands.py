# A command in a new sandbox, which is deleted at the end of the block.
from k8s_agent_sandbox import connect

with connect() as client, client.create(image="host") as sandbox:
    result = sandbox.commands.run("echo Hello; exit 3")
    print(result.stdout.strip(), result.exit_code)
# Output: Hello 3
