from agno.tools.e2b import E2BTools

tools = E2BTools(timeout=600)
print(tools.run_python_code("values = [1, 2, 3]\nprint(sum(values))"))
print(tools.write_file_content("/home/user/notes.txt", "kept by agno"))
print(tools.read_file_content("/home/user/notes.txt"))
print(tools.run_command("ls /home/user/notes.txt"))
print('"status": "success"' in tools.shutdown_sandbox())
