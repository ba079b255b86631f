import { z } from "zod";
import { remove } from "../sandboxes/create-sandbox.ts";
import { findSandbox } from "../sandboxes/find-sandbox.ts";
import { forkSandbox } from "../sandboxes/fork-sandbox.ts";
import { handleOf } from "../sandboxes/found-sandbox.ts";
import { setExpiry } from "../sandboxes/lifetime.ts";
import { requireSandbox } from "../sandboxes/require-sandbox.ts";
import { longestLifetimeSeconds, named, seconds } from "./arguments.ts";
import { type Answer, defineTool, type Tool } from "./tool.ts";

export const deleteSandboxTool: Tool = defineTool({
  name: "delete_sandbox",
  title: "Delete a sandbox",
  description: "Delete a sandbox with everything in it.",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  input: z.strictObject(named),
  output: z.object({ deleted: z.boolean() }),
  async run({ sandbox: name, namespace = "" }, call) {
    const found = await findSandbox(call, { namespace: namespace || call.caller.namespace, name });
    if (found === undefined) return { structured: { deleted: false }, text: `There is no sandbox ${name}` };
    await remove(call, found);
    return { structured: { deleted: true }, text: `Deleted sandbox ${name}` };
  },
});

const paused = z.object({ status: z.enum(["running", "paused"]), memory_kept: z.boolean() });

export const pauseSandboxTool: Tool = defineTool({
  name: "pause_sandbox",
  title: "Pause a sandbox",
  description:
    "Suspend a sandbox: it keeps its files, and its memory where the runtime can, but uses no processor. resume_sandbox continues it. It is still deleted at expires_at.",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject(named),
  output: paused,
  async run(args, call): Promise<Answer<z.output<typeof paused>>> {
    const handle = handleOf(call.caller, await requireSandbox(call, args));
    call.progress("suspending");
    const { depth } = await handle.suspend({ signal: call.signal });
    const keepsMemory = depth === "Memory";
    const text = `Sandbox ${args.sandbox} is paused. ${keepsMemory ? "Processes continue" : "Files are kept, processes are not,"} when it is resumed.`;
    return { structured: { status: "paused", memory_kept: keepsMemory }, text };
  },
});

export const resumeSandboxTool: Tool = defineTool({
  name: "resume_sandbox",
  title: "Resume a sandbox",
  description: "Continue a paused sandbox and wait until it can be used.",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject(named),
  output: paused,
  async run(args, call): Promise<Answer<z.output<typeof paused>>> {
    const found = await requireSandbox(call, args);
    const wasPaused = found.object?.spec.operatingMode === "Suspended";
    call.progress("resuming");
    const { restored } = await handleOf(call.caller, found).resume({ signal: call.signal });
    const keptMemory = !wasPaused || restored === "Memory";
    return { structured: { status: "running", memory_kept: keptMemory }, text: `Sandbox ${args.sandbox} is running` };
  },
});

export const extendSandboxTool: Tool = defineTool({
  name: "extend_sandbox",
  title: "Extend a sandbox",
  description: "Set the remaining lifetime of a sandbox, counted from now.",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({ ...named, timeout_seconds: seconds(10, longestLifetimeSeconds) }),
  output: z.object({ expires_at: z.string() }),
  async run({ timeout_seconds: lifetime, ...args }, call) {
    const expiresAt = await setExpiry(call, await requireSandbox(call, args), lifetime);
    return { structured: { expires_at: expiresAt.toISOString() } };
  },
});

export const forkSandboxTool: Tool = defineTool({
  name: "fork_sandbox",
  title: "Fork a sandbox",
  description:
    "Create a copy of a sandbox that continues from its present state: files, and processes and memory where the runtime can. The original goes on.",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  input: z.strictObject({
    ...named,
    name: named.sandbox.optional().describe("Name of the copy. Default: a new random name"),
    timeout_seconds: seconds(10, longestLifetimeSeconds).default(3600).describe("Lifetime of the copy"),
  }),
  output: z.object({
    sandbox: z.string(),
    namespace: z.string(),
    expires_at: z.string(),
    memory_kept: z.boolean(),
  }),
  async run({ name, timeout_seconds: lifetime, ...args }, call) {
    return { structured: await forkSandbox(call, await requireSandbox(call, args), { name, lifetime }) };
  },
});
