import { isSandboxError, type Sandbox } from "@agent-sandbox/sdk";
import { callRest, Deadline, readText, type Target } from "@agent-sandbox/sdk/internal";
import { z } from "zod";
import type { Call } from "../caller.ts";
import { handleOf } from "../sandboxes/found-sandbox.ts";
import { requireSandbox } from "../sandboxes/require-sandbox.ts";
import { inSandbox, seconds } from "./arguments.ts";
import { defineTool, type Tool } from "./tool.ts";

const callMs = 60_000;

export const exposePortTool: Tool = defineTool({
  name: "expose_port",
  title: "Expose a port",
  description:
    "Get the URL of a server in a sandbox. Requests need the header Authorization: Bearer <token>; login_url opens it in a browser, once, within a minute.",
  annotations: { readOnlyHint: true, openWorldHint: false },
  input: z.strictObject({
    ...inSandbox,
    port: z.int().min(1).max(65_535),
    wait_seconds: seconds(0, 300).default(30).describe("How long to wait until a server listens"),
    lifetime_seconds: seconds(1, 86_400).default(3600).describe("How long the token is valid"),
  }),
  output: z.object({
    url: z.string(),
    host_url: z.string(),
    login_url: z.string().optional(),
    token: z.string(),
    expires_at: z.string(),
    listening: z.boolean(),
  }),
  async run({ port, wait_seconds: wait, lifetime_seconds: lifetime, ...args }, call) {
    const found = await requireSandbox(call, args);
    const sandbox = handleOf(call.caller, found);
    call.progress(`waiting until a server listens on port ${port}`);
    const listening = await waitForPort(call, sandbox, { port, waitMs: wait * 1000 });
    if (listening) await forward(call, sandbox, port);
    const { token, expiresAt } = await newToken(call, sandbox, { port, lifetime });
    const loginUrl = await sandbox.ports.loginUrl(port, { signal: call.signal }).catch((error: unknown) => {
      // Callers without a credential of their own cannot make one.
      if (isSandboxError(error)) return undefined;
      throw error;
    });
    const url = `${call.caller.router.url}/sandboxes/${sandbox.namespace}/${sandbox.name}/${port}/`;
    const structured = {
      url,
      host_url: sandbox.ports.url(port),
      ...(loginUrl !== undefined && { login_url: loginUrl }),
      token,
      expires_at: expiresAt,
      listening,
    };
    const state = listening ? "" : `\nNothing listens on port ${port} yet.`;
    const browser = loginUrl === undefined ? "" : `\nIn a browser, once: ${loginUrl}`;
    return { structured, text: `${url}\nHeader: Authorization: Bearer ${token}${browser}${state}` };
  },
});

async function waitForPort(
  { signal }: Call,
  sandbox: Sandbox,
  { port, waitMs }: { readonly port: number; readonly waitMs: number },
): Promise<boolean> {
  if (waitMs === 0) return (await sandbox.ports.list({ signal })).some((open) => open.port === port);
  try {
    await sandbox.ports.wait(port, { timeoutMs: waitMs, signal });
    return true;
  } catch (error) {
    if (isSandboxError(error, "TimedOut")) return false;
    throw error;
  }
}

/** Makes a server that listens only on loopback reachable. */
async function forward({ caller, signal }: Call, { name, namespace, uid }: Sandbox, port: number): Promise<void> {
  const doing = `Cannot expose port ${port}`;
  using deadline = new Deadline({ signal }, callMs, doing);
  const target: Target = { name, namespace, uid };
  const request = { doing, deadline, method: "POST", path: `/ports/${port}/forward`, isRepeatable: true } as const;
  try {
    await readText((await callRest(caller.router, target, request)).body);
  } catch (error) {
    // It ended in the meantime.
    if (!isSandboxError(error, "NotFound")) throw error;
  }
}

async function newToken(
  { caller, signal }: Call,
  { name, namespace }: Sandbox,
  { port, lifetime }: { readonly port: number; readonly lifetime: number },
): Promise<{ readonly token: string; readonly expiresAt: string }> {
  const doing = `Cannot create a token for port ${port}`;
  using deadline = new Deadline({ signal }, callMs, doing);
  const path = `/router/v1/namespaces/${namespace}/sandboxes/${name}/tokens`;
  const body = JSON.stringify({ ports: [port], lifetimeSeconds: Math.ceil(lifetime) });
  const response = await caller.router.control({ doing, deadline, method: "POST", path, body });
  return JSON.parse(await readText(response.body)) as { token: string; expiresAt: string };
}
