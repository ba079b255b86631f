import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { available } from "../clients/unavailable.ts";
import { whyNoBox } from "../e2e/box.ts";
import { CompatBox } from "./compat-box.ts";
import type { Loose } from "./loose.ts";
import { npmPackages } from "./npm-packages.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

/** The image exists nowhere, so its sandboxes never start. */
const brokenTemplate = {
  apiVersion: "extensions.agents.x-k8s.io/v1beta1",
  kind: "SandboxTemplate",
  metadata: { name: "broken", namespace: "team-a" },
  spec: {
    runtime: "Injected",
    podTemplate: { spec: { containers: [{ name: "main", image: "127.0.0.1:1/absent:1" }] } },
  },
};

/** Claims that are listed and never start. */
const waitingClaim = (index: number): object => ({
  apiVersion: "extensions.agents.x-k8s.io/v1beta1",
  kind: "SandboxClaim",
  metadata: {
    name: `waiting-${index}`,
    namespace: "team-b",
    labels: { "compat.agents.x-k8s.io/face": "e2b" },
  },
  spec: { warmPoolRef: { name: "absent" } },
});

/** Edge cases of the life of a sandbox, with E2B's JavaScript client. */
describe.skipIf(reason !== undefined)("E2B's JavaScript client, at the edges of a sandbox's life", () => {
  let box: CompatBox;
  let Sandbox: Loose;
  let entry: string;
  let options: Readonly<Record<string, unknown>>;
  let never: Promise<unknown>;
  let retried: Promise<readonly Response[]>;

  beforeAll(async () => {
    const skip = ((message: string) => {
      console.warn(`skipped: ${message}`);
      throw new Error(message);
    }) as never;
    const load = await available(npmPackages(), { skip });
    ({ Sandbox } = load("e2b"));
    entry = load.resolve("e2b");
    box = await CompatBox.start();
    options = { apiKey: box.key(), apiUrl: `${box.url}/e2b`, sandboxUrl: box.url };
    await box.apply(brokenTemplate);
    // The answer comes after 55 s: the other tests run in the meantime.
    never = Sandbox.create("broken", options).catch((error: unknown) => error);
    const headers = { "x-api-key": box.key(), "idempotency-key": "again", "content-type": "application/json" };
    const body = JSON.stringify({ templateID: "broken" });
    const attempt = (): Promise<Response> => fetch(`${box.url}/e2b/v2/sandboxes`, { method: "POST", headers, body });
    retried = Promise.all([attempt(), attempt(), attempt()]);
    retried.catch(() => undefined);
  }, 300_000);
  afterAll(async () => await box?.[Symbol.asyncDispose](), 120_000);

  const create = (more: object = {}): Promise<Loose> => Sandbox.create({ ...options, timeoutMs: 280_000, ...more });
  const isGone = async (sandbox: Loose): Promise<boolean> =>
    sandbox.getInfo().then(
      () => false,
      (error: Error) => error.name === "SandboxNotFoundError",
    );

  test("without a key the client makes no request (COMPAT-1)", async () => {
    const refused = Sandbox.create({ ...options, apiKey: "", apiUrl: "http://127.0.0.1:1" });
    await expect(refused).rejects.toMatchObject({ name: "AuthenticationError" });
  });

  test("a sandbox with a deadline that is over is gone (COMPAT-21, COMPAT-29)", async () => {
    const sandbox = await create();
    await sandbox.setTimeout(0);
    await expect.poll(() => isGone(sandbox), { timeout: 30_000 }).toBe(true);
    expect(await sandbox.isRunning()).toBe(false);
  });

  test("a deadline that pauses: no deadline remains, and lists find it as paused (COMPAT-16, COMPAT-30)", async () => {
    const sandbox = await create({ lifecycle: { onTimeout: "pause" } });
    await sandbox.files.write("kept", "yes");
    await sandbox.setTimeout(1000);
    await expect.poll(async () => (await sandbox.getInfo()).state, { timeout: 60_000 }).toBe("paused");
    expect((await sandbox.getInfo()).endAt.getUTCFullYear()).toBe(2099);
    const paused = await Sandbox.list({ ...options, query: { state: ["paused"] } }).nextItems();
    expect(paused.map(({ sandboxId }: Loose) => sandboxId)).toEqual([sandbox.sandboxId]);
    expect(await (await Sandbox.connect(sandbox.sandboxId, options)).files.read("kept")).toBe("yes");
    await sandbox.kill();
  });

  test("many requests to a paused sandbox resume it once (COMPAT-24)", async () => {
    const sandbox = await create({ lifecycle: { onTimeout: "pause", autoResume: true } });
    const handle = await sandbox.commands.run("sleep 1000", { background: true, timeoutMs: 0 });
    await sandbox.pause();
    const read = (kind: string, name: string, path: string): string =>
      box.kubectl("get", kind, name, "-n", "team-a", "-o", `jsonpath={${path}}`);
    const bound = read("sandboxclaim", sandbox.sandboxId, ".status.sandbox.name");
    const changes = (): number => Number(read("sandbox", bound, ".metadata.generation"));
    const before = changes();
    const done = await Promise.all(Array.from({ length: 20 }, (_, index) => sandbox.commands.run(`echo ${index}`)));
    expect(done.map(({ stdout }) => stdout)).toEqual(done.map((_, index) => `${index}\n`));
    expect((await sandbox.commands.list()).map(({ pid }: Loose) => pid)).toContain(handle.pid);
    expect(changes()).toBe(before + 1);
    await sandbox.kill();
  });

  test("a command goes on when the program that started it is killed (COMPAT-43)", async () => {
    const sandbox = await create();
    const script = `
      const { Sandbox } = require(process.argv[1]);
      const [id, options] = [process.argv[2], JSON.parse(process.argv[3])];
      Sandbox.connect(id, options).then(async (sandbox) => {
        await sandbox.commands.run("echo started; exec sleep 4713", { onStdout: (text) => process.stdout.write(text) });
      });`;
    const client = spawn(process.execPath, ["-e", script, entry, sandbox.sandboxId, JSON.stringify(options)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [text] = await once(client.stdout, "data");
    expect(String(text)).toBe("started\n");
    client.kill("SIGKILL");
    await once(client, "exit");
    const running = (await sandbox.commands.list()) as readonly Loose[];
    const found = running.find(({ args }) => args.at(-1).includes("sleep 4713"));
    expect(await sandbox.commands.kill(found?.pid)).toBe(true);
    await sandbox.kill();
  });

  test("205 sandboxes are three pages, while others come and go (COMPAT-17)", { timeout: 120_000 }, async () => {
    await box.apply(...Array.from({ length: 205 }, (_, index) => waitingClaim(index)));
    const pages: string[][] = [];
    const list = Sandbox.list({ ...options, apiKey: box.key("team-b"), limit: 100 });
    while (list.hasNext) {
      pages.push((await list.nextItems()).map(({ sandboxId }: Loose) => sandboxId));
      await box.apply(waitingClaim(1000 + pages.length));
      box.kubectl("delete", "sandboxclaim", "-n", "team-b", `waiting-${1000 + pages.length}`);
    }
    expect(pages.map(({ length }) => length)).toEqual([100, 100, 5]);
    expect(new Set(pages.flat()).size).toBe(205);
  });

  test("a sandbox that cannot start in time is answered with 503, and no claim is left (COMPAT-6)", {
    timeout: 180_000,
  }, async () => {
    expect(await never).toMatchObject({ name: "ServiceBusyError" });
    // Other attempts of a request get the same claim, so none can be left of them either.
    expect((await retried).map(({ status }) => status)).toEqual([503, 503, 503]);
    const left = (): string =>
      box.kubectl("get", "sandboxclaims", "-n", "team-a", "-o", "jsonpath={.items[*].spec.warmPoolRef.name}");
    await expect.poll(left).not.toContain("broken");
  });
});
