// A coding agent: a model edits a project in a sandbox and runs its tests until they pass, then starts the server.

import { Sandbox } from "e2b";
import OpenAI from "openai";

const client = new OpenAI();
const sandbox = await Sandbox.create({ timeoutMs: 10 * 60 * 1000, envs: { NODE_ENV: "test" } });

const handlers = {
  async writeFile({ path, content }) {
    await sandbox.files.write(path, content);
    return `wrote ${path}`;
  },
  async runCommand({ command }) {
    try {
      const { stdout, stderr } = await sandbox.commands.run(command, { timeoutMs: 0 });
      return stdout + stderr;
    } catch (error) {
      return `exit code ${error.exitCode}\n${error.stdout}${error.stderr}`;
    }
  },
  async startServer({ command, port }) {
    await sandbox.commands.run(command, { background: true });
    await sandbox.commands.run(`until (echo > /dev/tcp/127.0.0.1/${port}) 2> /dev/null; do sleep 0.1; done`);
    return `https://${sandbox.getHost(port)}`;
  },
};
const tools = Object.keys(handlers).map((name) => ({ type: "function", function: { name, parameters: {} } }));

const messages = [{ role: "user", content: "Write a module that adds numbers, with a test, and serve it." }];
for (let step = 0; step < 20; step++) {
  const { choices } = await client.chat.completions.create({ model: "gpt-4o", messages, tools });
  const { message } = choices[0];
  messages.push(message);
  if (!message.tool_calls) {
    console.log(message.content);
    break;
  }
  for (const call of message.tool_calls) {
    const content = await handlers[call.function.name](JSON.parse(call.function.arguments));
    console.log(`${call.function.name}: ${content.split("\n")[0]}`);
    messages.push({ role: "tool", tool_call_id: call.id, content });
  }
}
await sandbox.kill();
