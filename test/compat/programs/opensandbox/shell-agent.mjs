// An agent that works in a shell session: each command of the model continues where the one before stopped.
import { ConnectionConfig, Sandbox } from "@alibaba-group/opensandbox";
import OpenAI from "openai";

const client = new OpenAI();
const sandbox = await Sandbox.create({
  connectionConfig: new ConnectionConfig(),
  image: process.env.SANDBOX_IMAGE ?? "ubuntu",
  env: { PROJECT: "/tmp/project" },
});
const session = await sandbox.commands.createSession({ workingDirectory: "/tmp" });
const tools = ["run_in_shell", "write_file", "search_files"].map((name) => ({ type: "function", function: { name } }));

async function callTool(name, { command, path, content, pattern }) {
  if (name === "write_file") {
    await sandbox.files.writeFiles([{ path, data: content, mode: 755 }]);
    return `wrote ${path}`;
  }
  if (name === "search_files") {
    return (await sandbox.files.search({ path, pattern })).map((file) => file.path).join("\n");
  }
  const { logs, exitCode } = await sandbox.commands.runInSession(session, command);
  const lines = [...logs.stdout, ...logs.stderr].map(({ text }) => text);
  return [...lines, `exit code ${exitCode}`].join("\n");
}

const messages = [{ role: "user", content: "Make a project with a script, and run it." }];
for (;;) {
  const { choices } = await client.chat.completions.create({ model: "qwen-plus", messages, tools });
  const { message } = choices[0];
  messages.push(message);
  if (!message.tool_calls) {
    console.log(message.content);
    break;
  }
  for (const call of message.tool_calls) {
    const content = await callTool(call.function.name, JSON.parse(call.function.arguments));
    console.log(`${call.function.name}: ${content.replaceAll("\n", " | ")}`);
    messages.push({ role: "tool", tool_call_id: call.id, content });
  }
}
await sandbox.commands.deleteSession(session);
await sandbox.kill();
await sandbox.close();
