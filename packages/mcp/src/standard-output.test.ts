import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";

const script = `
const { takeStandardOutput } = await import(${JSON.stringify(new URL("./standard-output.ts", import.meta.url).href)});
console.log("before");
const output = takeStandardOutput();
console.log("from console.log");
console.info("from console.info");
process.stdout.write("from write\\n");
process.stdout.end("from end\\n");
output.write('{"jsonrpc":"2.0"}\\n');
`;

test("nothing but the protocol reaches the standard output after it was taken", async () => {
  const words = ["--conditions=source", "--disable-warning=ExperimentalWarning", "--input-type=module", "-e", script];
  const child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "pipe"] });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  expect(stdout).toBe('before\n{"jsonrpc":"2.0"}\n');
  expect(stderr).toBe("from console.log\nfrom console.info\nfrom write\nfrom end\n");
});
