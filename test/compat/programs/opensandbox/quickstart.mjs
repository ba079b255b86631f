import { ConnectionConfig, Sandbox } from "@alibaba-group/opensandbox";

const image = process.env.SANDBOX_IMAGE ?? "ubuntu";
const sandbox = await Sandbox.create({
  connectionConfig: new ConnectionConfig(),
  image,
  timeoutSeconds: 10 * 60,
});

const execution = await sandbox.commands.run("echo 'Hello Sandbox!'");
console.log(execution.logs.stdout[0]?.text);

await sandbox.files.writeFiles([{ path: "/tmp/greeting.txt", data: "from a file", mode: 644 }]);
console.log(await sandbox.files.readFile("/tmp/greeting.txt"));

await sandbox.commands.run("cd /tmp && exec python3 -m http.server 8000", { background: true });
const { endpoint, headers } = await sandbox.getEndpoint(8000);
for (;;) {
  const answer = await fetch(`http://${endpoint}/greeting.txt`, { headers });
  if (answer.ok) {
    console.log(`served: ${await answer.text()}`);
    break;
  }
  await new Promise((resolve) => setTimeout(resolve, 200));
}

const info = await sandbox.getInfo();
console.log(info.status.state);
await sandbox.kill();
await sandbox.close();
