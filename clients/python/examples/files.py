# Files in, files out.
from k8s_agent_sandbox import connect

with connect() as client, client.create(image="host") as sandbox:
    sandbox.files.write("notes/today.txt", "buy milk")
    print([entry.name for entry in sandbox.files.list("notes")], sandbox.files.read("notes/today.txt"))
# Output: ['today.txt'] b'buy milk'
