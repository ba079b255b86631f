import { z } from "zod";
import { describedSandbox, describeSandbox } from "../sandboxes/describe-sandbox.ts";
import { listSandboxes } from "../sandboxes/list-sandboxes.ts";
import { namespace, sandboxName } from "./arguments.ts";
import { defineTool, type Tool } from "./tool.ts";

export const listSandboxesTool: Tool = defineTool({
  name: "list_sandboxes",
  title: "List sandboxes",
  description: "List your sandboxes in a namespace, sorted by name.",
  annotations: { readOnlyHint: true, openWorldHint: false },
  input: z.strictObject({
    labels: z.record(z.string().max(320), z.string().max(63)).optional().describe("Only sandboxes with these labels"),
    status: describedSandbox.shape.status.optional(),
    limit: z.int().min(1).max(200).default(50),
    cursor: sandboxName.optional().describe("next_cursor of the previous call"),
    namespace,
  }),
  output: z.object({ sandboxes: z.array(describedSandbox), next_cursor: z.string().optional() }),
  async run({ labels = {}, status, limit, cursor = "", namespace }, call) {
    const all = (await listSandboxes(call, namespace ?? call.caller.namespace)).map(describeSandbox);
    const wanted = all.filter(
      (one) =>
        (status === undefined || one.status === status) &&
        one.sandbox > cursor &&
        Object.entries(labels).every(([key, value]) => one.labels[key] === value),
    );
    const sandboxes = wanted.slice(0, limit);
    const last = sandboxes.at(-1)?.sandbox;
    const lines = sandboxes.map((one) => `${one.sandbox}  ${one.status}  ${one.template ?? one.image ?? ""}`);
    const text = lines.length === 0 ? "No sandboxes" : lines.join("\n");
    const hasMore = wanted.length > limit && last !== undefined;
    return { structured: { sandboxes, ...(hasMore && { next_cursor: last }) }, text };
  },
});
