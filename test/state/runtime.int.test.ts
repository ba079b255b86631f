import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { secrets } from "../../packages/node/src/resources.ts";
import { cannotRun, namespace, podOf, StateBox } from "./state-box.ts";

/** A message of a Connect stream is preceded by a byte of flags and four bytes of length. */
function envelope(message: object): Buffer<ArrayBuffer> {
  const body = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
}

interface ProcessEvent {
  readonly init?: { readonly processId: number };
  readonly stdout?: string;
}

async function* events(response: Response): AsyncGenerator<ProcessEvent> {
  let left = Buffer.alloc(0);
  for await (const chunk of response.body ?? []) {
    left = Buffer.concat([left, chunk as Uint8Array]);
    for (
      ;
      left.length >= 5 && left.length >= 5 + left.readUInt32BE(1);
      left = left.subarray(5 + left.readUInt32BE(1))
    ) {
      yield JSON.parse(left.subarray(5, 5 + left.readUInt32BE(1)).toString()) as ProcessEvent;
    }
  }
}

interface Call {
  /** The Sandbox whose token is sent. Default: the one that is called. */
  readonly owner?: string;
  readonly port?: number;
  readonly type?: string;
  readonly method?: string;
  readonly body?: string | Buffer<ArrayBuffer>;
}

describe.skipIf(cannotRun)("sandboxd in a sandbox whose memory is kept", { timeout: 180_000 }, () => {
  let box: StateBox;

  beforeAll(async () => {
    box = await StateBox.start();
  }, 180_000);
  afterAll(() => box?.[Symbol.asyncDispose](), 120_000);

  /** Runs a command of the command line. */
  async function run(...words: string[]): Promise<string> {
    const { code, stdout, stderr } = await box.box.run(...words);
    if (code !== 0) throw new Error(`agent-sandbox ${words.join(" ")}: ${stdout}${stderr}`);
    return stdout;
  }

  const shell = (name: string, script: string): Promise<string> => box.shell(name, script);

  async function tokenOf(name: string): Promise<string> {
    const { data } = await box.client.get(secrets, { namespace, name: `${name}-runtime` });
    return Buffer.from(data?.["token"] ?? "", "base64").toString();
  }

  /** A request to sandboxd, past the router, with the token of a Sandbox. */
  async function call(name: string, path: string, more: Call = {}): Promise<Response> {
    const { owner = name, port = 8080, type = "application/json", ...init } = more;
    const { status } = await box.read(name);
    // A kept connection does not survive a rollback, in which the sandbox returns to an earlier state of it.
    const headers = { "content-type": type, "x-sandbox-token": await tokenOf(owner), connection: "close" };
    return fetch(`http://${status?.podIPs?.[0]}:${port}${path}`, { ...init, headers });
  }

  async function json<T>(response: Promise<Response>): Promise<T> {
    return (await (await response).json()) as T;
  }

  const processes = (name: string, method: string, message: object): Promise<Response> =>
    call(name, `/process.v1.ProcessService/${method}`, {
      port: 9090,
      method: "POST",
      type: "application/connect+json",
      body: envelope(message),
    });

  test("code contexts, processes and their output continue after a suspension, and hooks run", async () => {
    await box.run("worker", { runtime: "Injected", podTemplate: podOf(["sleep", "infinity"]) });
    const hook = "#!/bin/sh\necho $(basename $0) $SANDBOX_EPOCH >>/workspace/hooks\n";
    const hooks = "/etc/agent-sandbox/hooks";
    const install = ["before-suspend", "after-resume", "after-fork"].map(
      (name) => `printf '${hook.replaceAll("\n", "\\n")}' >${hooks}/${name}; chmod +x ${hooks}/${name}`,
    );
    await shell("worker", `mkdir -p ${hooks}; ${install.join("; ")}`);

    const post = (path: string, body: object) =>
      json<Record<string, never>>(call("worker", path, { method: "POST", body: JSON.stringify(body) }));
    const { id } = await post("/v1/contexts", { language: "python" });
    await post(`/v1/contexts/${id}/execute`, { code: "x = 41" });
    const script = "i=0; while [ ! -e end ]; do i=$((i+1)); echo $i; sleep 0.05; done";
    let started = 0;
    for await (const event of events(await processes("worker", "Start", { config: { shell: script }, detach: true }))) {
      started = event.init?.processId ?? started;
      if (event.stdout !== undefined) break;
    }

    expect(await run("suspend", "worker")).toMatch(/suspended \(depth Memory, [\d.]+MiB\)\n$/);
    expect(await run("resume", "worker")).toMatch(/resumed \(from memory, epoch 1\)\n$/);

    expect(await post(`/v1/contexts/${id}/execute`, { code: "x + 1" })).toMatchObject({
      results: [{ "text/plain": "42" }],
      execution_count: 2,
    });
    await shell("worker", "touch /workspace/end");
    let output = "";
    for await (const { stdout = "" } of events(await processes("worker", "Attach", { processId: started }))) {
      output += Buffer.from(stdout, "base64").toString();
    }
    const lines = output.trimEnd().split("\n").map(Number);
    expect(lines).toEqual(lines.map((_, index) => index + 1));
    expect(lines.length).toBeGreaterThan(1);
    expect(await shell("worker", "cat /workspace/hooks")).toBe("before-suspend 0\nafter-resume 1");
    expect(await json(call("worker", "/v1/epoch"))).toMatchObject({ epoch: 1, name: "worker" });
  });

  test("a fork has its own identity, and neither accepts the token of the other", async () => {
    expect(await run("fork", "worker", "second")).toMatch(/second forked from worker \(from memory, epoch 2\)\n$/);
    const { uid } = (await box.read("second")).metadata;
    expect(await json(call("second", "/v1/epoch"))).toEqual({ epoch: 2, name: "second", namespace: "default", uid });
    expect(await json(call("worker", "/v1/epoch"))).toMatchObject({ epoch: 1, name: "worker" });
    expect((await call("second", "/v1/epoch", { owner: "worker" })).status).toBe(401);
    expect((await call("worker", "/v1/epoch", { owner: "second" })).status).toBe(401);
    expect(await shell("second", "tail -1 /workspace/hooks; hostname")).toBe("after-fork 2\nsecond");
    expect(await shell("worker", "tail -1 /workspace/hooks")).toBe("after-resume 1");
    expect(await shell("second", "ps -o stat= -C sleep | grep -c T || true")).toBe("0");
    const contexts = await json<{ contexts: { id: string }[] }>(call("second", "/v1/contexts"));
    const body = JSON.stringify({ code: "x + 2" });
    const path = `/v1/contexts/${contexts.contexts[0]?.id}/execute`;
    expect(await json(call("second", path, { method: "POST", body }))).toMatchObject({
      results: [{ "text/plain": "43" }],
    });
  });

  test("a fork of a Sandbox whose suspensions keep files only has its own identity, and is reached by its name", async () => {
    const suspendPolicy = { depth: "Filesystem" } as const;
    await box.run("brief", { runtime: "Injected", podTemplate: podOf(["sleep", "infinity"]), suspendPolicy });
    const hooks = "/etc/agent-sandbox/hooks";
    const hook = "#!/bin/sh\\necho $SANDBOX_NAME $SANDBOX_EPOCH >/workspace/forked\\n";
    await shell("brief", `mkdir -p ${hooks}; printf '${hook}' >${hooks}/after-fork; chmod +x ${hooks}/after-fork`);
    expect(await run("fork", "brief", "copy")).toMatch(/copy forked from brief \(from memory, epoch 1\)\n$/);
    const { uid } = (await box.read("copy")).metadata;
    const identity = { epoch: 1, name: "copy", namespace: "default", uid };
    expect(JSON.parse(await box.get("copy", 8080, "/v1/epoch"))).toEqual(identity);
    expect(JSON.parse(await box.get("brief", 8080, "/v1/epoch"))).toMatchObject({ epoch: 0, name: "brief" });
    expect((await call("copy", "/v1/epoch", { owner: "brief" })).status).toBe(401);
    expect((await call("brief", "/v1/epoch", { owner: "copy" })).status).toBe(401);
    expect(await shell("copy", "cat /workspace/forked")).toBe("copy 1");
    expect(await shell("copy", "cat /run/agent-sandbox/environment")).toContain(`SANDBOX_UID=${uid}\n`);
  });

  test("a rollback brings the memory of the snapshot back, any number of times", async () => {
    expect(await run("snapshot", "create", "worker", "early")).toMatch(
      /early created \(depth Memory, [\d.]+MiB, paused/,
    );
    const contexts = await json<{ contexts: { id: string }[] }>(call("worker", "/v1/contexts"));
    const path = `/v1/contexts/${contexts.contexts[0]?.id}/execute`;
    const execute = (code: string) => json(call("worker", path, { method: "POST", body: JSON.stringify({ code }) }));
    for (const epoch of [2, 3]) {
      await execute("x = 0");
      expect(await run("snapshot", "restore", "worker", "early")).toContain(`from memory, epoch ${epoch}`);
      expect(await execute("x")).toMatchObject({ results: [{ "text/plain": "41" }] });
    }
    expect(await run("snapshot", "ls", "worker")).toMatch(/^early +worker +Memory +[\d.]+MiB +Ready/m);
    expect(await run("snapshot", "delete", "early")).toContain("early deleted");
  });
});
