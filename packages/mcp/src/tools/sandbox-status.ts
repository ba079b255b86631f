import { isSandboxError } from "@agent-sandbox/sdk";
import { z } from "zod";
import type { Call } from "../caller.ts";
import { describedSandbox, describeSandbox } from "../sandboxes/describe-sandbox.ts";
import { type FoundSandbox, handleOf, holderOf } from "../sandboxes/found-sandbox.ts";
import { requireSandbox } from "../sandboxes/require-sandbox.ts";
import { named } from "./arguments.ts";
import { defineTool, type Tool } from "./tool.ts";

const maxPorts = 100;

const usage = z.object({
  cpu: z.object({ used_seconds: z.number() }).optional(),
  memory: z.object({ used_bytes: z.number(), limit_bytes: z.number().optional() }).optional(),
  ports: z.array(z.object({ port: z.int(), address: z.string(), command: z.string() })),
});

export const sandboxStatusTool: Tool = defineTool({
  name: "sandbox_status",
  title: "Show a sandbox",
  description:
    "Show the state of a sandbox, what it uses, and the ports that programs in it listen on. Does not resume it.",
  annotations: { readOnlyHint: true, openWorldHint: false },
  input: z.strictObject(named),
  output: describedSandbox.extend({
    conditions: z.array(z.object({ type: z.string(), status: z.string(), reason: z.string(), message: z.string() })),
    ...usage.shape,
  }),
  async run(args, call) {
    const found = await requireSandbox(call, args);
    const described = describeSandbox(found);
    const conditions = (holderOf(found).status?.conditions ?? []).map(
      ({ type, status, reason = "", message = "" }) => ({
        type,
        status,
        reason,
        message,
      }),
    );
    // Asking a paused sandbox would resume it.
    const used = described.status === "running" ? await usageOf(call, found) : { ports: [] };
    const structured = { ...described, conditions, ...used };
    return { structured, text: JSON.stringify(structured, undefined, 2) };
  },
});

async function usageOf({ caller, signal }: Call, found: FoundSandbox): Promise<z.output<typeof usage>> {
  const handle = handleOf(caller, found);
  try {
    const [{ cpuSeconds, memoryBytes, memoryLimitBytes }, ports] = await Promise.all([
      handle.usage({ signal }),
      handle.ports.list({ signal }),
    ]);
    const limit = memoryLimitBytes === undefined ? {} : { limit_bytes: memoryLimitBytes };
    return {
      cpu: { used_seconds: cpuSeconds },
      memory: { used_bytes: memoryBytes, ...limit },
      ports: ports.slice(0, maxPorts).map(({ port, address, command }) => ({ port, address, command })),
    };
  } catch (error) {
    // It has stopped since, or has no daemon.
    if (isSandboxError(error)) return { ports: [] };
    throw error;
  }
}
