import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../../free-port.ts";
import { Box, buildCommandLine, whyNoBox } from "../box.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

const root = join(import.meta.dirname, "../../..");
const kinds = "sandboxes,sandboxclaims,sandboxsnapshots";

/** What a command that takes long has begun when the signal comes, and what must not be left of it. */
interface Interruption {
  readonly words: readonly string[];
  /** Written to its standard input, which stays open. */
  readonly input?: string;
  readonly isHalfway: (pid: number) => Promise<boolean>;
  readonly isGone?: (pid: number) => Promise<boolean>;
}

describe.skipIf(reason !== undefined)("Ctrl-C halfway", { timeout: 120_000 }, () => {
  let box: Box;
  let registry: Server;
  /** An image of a registry that accepts connections and never answers. */
  let image: string;
  let folder: string;
  let localPort: number;
  let kubeconfig: string;
  let before: string;
  const objects = async (): Promise<string> => (await box.run("get", kinds, "-o", "name")).stdout;
  const has = (part: string) => async (): Promise<boolean> => (await objects()).includes(part);
  const inSandbox = async (): Promise<string> => (await box.run("exec", "work", "--", "ls", "/root")).stdout;
  const staged = (pid: number): readonly string[] => {
    const staging = join(box.dataDir, "node/images/staging");
    return (existsSync(staging) ? readdirSync(staging) : []).filter((name) => name.startsWith(`${pid}-`));
  };

  beforeAll(async () => {
    buildCommandLine();
    box = await Box.make();
    folder = mkdtempSync(join(box.dataDir, "local-"));
    registry = createServer(() => undefined).listen(0, "127.0.0.1");
    await once(registry, "listening");
    const { port } = registry.address() as { port: number };
    image = `127.0.0.1:${port}/never`;
    const { code, stderr } = await box.up("--default-runtime", "runc");
    if (code !== 0) throw new Error(stderr);
    const registries = JSON.stringify([{ name: `127.0.0.1:${port}`, insecure: true }]);
    await box.run("config", "set", "node.images.registries", registries);
    await box.run("create", "work");
    await box.run("exec", "work", "--", "truncate", "-s", "20G", "/tmp/large");
    const spec = { podTemplate: { spec: { containers: [{ name: "main", image }] } } };
    const waiting = [
      { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", metadata: { name: "starting" }, spec },
      { apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind: "SandboxTemplate", metadata: { name: "slow" }, spec },
    ];
    await box.runWith(waiting.map((one) => JSON.stringify(one)).join("\n---\n"), "apply", "-f", "-");
    await box.run("create", "big");
    await box.run("exec", "big", "--", "sh", "-c", "head -c 300000000 /dev/urandom > /root/random");
    await box.run("snapshot", "create", "big", "large");
    localPort = await freePort();
    kubeconfig = join(box.dataDir, "copy.kubeconfig");
    copyFileSync(box.kubeconfig, kubeconfig);
    before = await objects();
  }, 120_000);
  afterAll(async () => {
    registry?.close();
    await box?.[Symbol.asyncDispose]();
  });

  const start = (...words: string[]): ChildProcess =>
    spawn(join(root, "dist/agent-sandbox"), ["--data-dir", box.dataDir, ...words], {
      stdio: ["pipe", "ignore", "pipe"],
      cwd: folder,
    });

  const rows: readonly Interruption[] = [
    { words: ["create", "new", "--image", "IMAGE"], isHalfway: has("/new\n") },
    { words: ["run", "--name", "once", "--image", "IMAGE", "--", "true"], isHalfway: has("/once\n") },
    { words: ["claim", "slow", "--name", "mine"], isHalfway: has("/mine\n") },
    { words: ["snapshot", "create", "starting", "first"], isHalfway: has("/first\n") },
    { words: ["fork", "starting", "copy"], isHalfway: has("/starting-fork-") },
    {
      words: ["image", "pull", "IMAGE"],
      isHalfway: async (pid) => staged(pid).length > 0,
      isGone: async (pid) => staged(pid).length === 0,
    },
    {
      words: ["image", "load", "-"],
      input: "x",
      isHalfway: async (pid) => staged(pid).length > 0,
      isGone: async (pid) => staged(pid).length === 0,
    },
    {
      words: ["cp", "-", "work:/root/typed"],
      input: "half of it",
      isHalfway: async () => (await inSandbox()).includes("typed."),
      isGone: async () => !(await inSandbox()).includes("typed"),
    },
    {
      words: ["cp", "work:/tmp/large", "large"],
      isHalfway: async () => readdirSync(folder).some((name) => name.startsWith("large.")),
      isGone: async () => readdirSync(folder).length === 0,
    },
    {
      words: ["exec", "work", "--", "sh", "-c", "touch /root/runs; exec sleep 100000"],
      isHalfway: async () => (await inSandbox()).includes("runs"),
    },
    { words: ["wait", "sandbox/starting", "--for=condition=Ready"], isHalfway: async (pid) => isConnected(pid) },
    { words: ["logs", "-f", "work"], isHalfway: async (pid) => isConnected(pid) },
    { words: ["get", "sandboxes", "-w"], isHalfway: async (pid) => isConnected(pid) },
    { words: ["port-forward", "work", "PORT:80"], isHalfway: async (pid) => isConnected(pid, listening) },
    {
      // With a kubeconfig only, it forwards the port of the router.
      words: ["open", "work", "80", "--print", "--kubeconfig", "KUBECONFIG"],
      isHalfway: async (pid) => isConnected(pid, listening),
    },
    {
      words: ["snapshot", "export", "large", "-o", "archive"],
      isHalfway: async () => readdirSync(folder).some((name) => name.startsWith("archive.")),
      isGone: async () => readdirSync(folder).length === 0,
    },
    {
      words: ["snapshot", "import", "-", "--name", "half"],
      input: "half of it",
      isHalfway: async (pid) => isConnected(pid),
    },
  ];

  test.each(rows)("$words", async ({ words, input, isHalfway, isGone = async () => true }) => {
    const child = start(
      ...words.map((word) =>
        word.replace("IMAGE", image).replace("PORT", String(localPort)).replace("KUBECONFIG", kubeconfig),
      ),
    );
    const { pid = 0, stdin, stderr } = child;
    stdin?.on("error", () => undefined).write(input ?? "");
    const said = stderr === null ? "" : text(stderr);
    await expect.poll(() => isHalfway(pid), { timeout: 30_000, interval: 5 }).toBe(true);
    const exited = once(child, "exit");
    child.kill("SIGINT");
    const [code, signal] = (await exited) as [number | null, string | null];
    // A shell shows both as 130.
    expect(signal === "SIGINT" || code === 130, `${code} ${await said}`).toBe(true);
    expect((await said).trim()).toMatch(/^(?:Forwarding the port [^\n]*)?(?:error: ended by SIGINT)?$/);
    await expect.poll(() => isGone(pid), { timeout: 30_000 }).toBe(true);
    await expect.poll(objects, { timeout: 30_000 }).toBe(before);
  });

  test("up stops the box that it was starting", async () => {
    const dataDir = join(folder, "second");
    const words = ["--data-dir", dataDir, "up", "--listen", "127.0.0.1:0", "--router-listen", "127.0.0.1:0"];
    const child = spawn(join(root, "dist/agent-sandbox"), words, { stdio: "ignore" });
    // The process in the background makes its folders.
    const isStarting = (): boolean => existsSync(dataDir) && readdirSync(dataDir).some((name) => name !== "box.log");
    await expect.poll(isStarting, { timeout: 30_000, interval: 5 }).toBe(true);
    const exited = once(child, "exit");
    child.kill("SIGINT");
    expect(await exited).toEqual([130, null]);
    await expect.poll(() => processesWith(dataDir), { timeout: 30_000 }).toEqual([]);
  });
});

/** States of TCP sockets in /proc/net/tcp. */
const established = "01";
const listening = "0A";

/** Whether a process has a TCP connection, or a socket in another state. */
function isConnected(pid: number, wanted = established): boolean {
  const sockets = readdirSync(`/proc/${pid}/fd`).map((name) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${name}`);
    } catch {
      return "";
    }
  });
  const found = readFileSync(`/proc/${pid}/net/tcp`, "utf8")
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , state]) => state === wanted);
  return found.some(([, , , , , , , , , inode]) => sockets.includes(`socket:[${inode}]`));
}

/** The command lines of processes that use a folder. */
function processesWith(folder: string): readonly string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8");
      } catch {
        return "";
      }
    })
    .filter((words) => words.includes(folder));
}
