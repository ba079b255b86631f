import { Sandbox } from "@e2b/code-interpreter";

const sandbox = await Sandbox.create();
await sandbox.runCode("x = 1");
const execution = await sandbox.runCode("x += 1; x");
console.log(execution.text);

// Upload a dataset and work with it
await sandbox.files.write("/home/user/sales.csv", "month,total\nJan,3\nFeb,4\n");
const { logs } = await sandbox.runCode(`
import csv
rows = list(csv.DictReader(open("/home/user/sales.csv")))
print(sum(int(row["total"]) for row in rows))
`);
console.log(logs.stdout.join("").trim());

// Stream the output of a long command
await sandbox.commands.run("for i in 1 2 3; do echo step $i; done", {
  onStdout: (data) => process.stdout.write(data),
});

// Continue in another process
const same = await Sandbox.connect(sandbox.sandboxId);
console.log((await same.files.read("/home/user/sales.csv")).split("\n").length);
await same.kill();
