import type { SandboxTemplate } from "@agent-sandbox/api";
import { Deadline, type PoolObject, pools } from "@agent-sandbox/sdk/internal";
import { z } from "zod";
import { templates } from "../sandboxes/pool-of-template.ts";
import { namespace } from "./arguments.ts";
import { defineTool, type Tool } from "./tool.ts";

const listMs = 20_000;
const maxTemplates = 500;

export const listTemplatesTool: Tool = defineTool({
  name: "list_templates",
  title: "List templates",
  description:
    "List the templates that create_sandbox can use, with the number of sandboxes that are ready to be taken.",
  annotations: { readOnlyHint: true, openWorldHint: false },
  input: z.strictObject({ namespace }),
  output: z.object({
    templates: z.array(z.object({ name: z.string(), image: z.string(), warm: z.int() })),
    truncated: z.boolean(),
  }),
  async run({ namespace: place }, { caller, settings, signal }) {
    using deadline = new Deadline({ signal }, listMs, "Cannot list templates");
    const where = { namespace: place ?? caller.namespace };
    const [all, allPools] = await Promise.all([
      caller.api.list(templates, where, deadline),
      caller.api.list(pools, where, deadline),
    ]);
    const found = all
      .map((template) => ({
        name: template.metadata.name ?? "",
        image: imageOf(template),
        warm: warmOf(template, allPools),
      }))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const structured = { templates: found.slice(0, maxTemplates), truncated: found.length > maxTemplates };
    const lines = structured.templates.map(({ name, image, warm }) => `${name}  ${image}  ${warm} ready`);
    const { source } = settings;
    const rest =
      source === undefined
        ? ""
        : `Default: ${"image" in source ? `image ${source.image}` : `template ${source.template}`}`;
    return { structured, text: [...lines, rest].filter((line) => line !== "").join("\n") || "No templates" };
  },
});

function imageOf({ spec }: SandboxTemplate): string {
  return spec.podTemplate.spec.containers[0]?.image ?? "";
}

function warmOf({ metadata }: SandboxTemplate, all: readonly PoolObject[]): number {
  const own = all.filter(({ spec }) => spec.sandboxTemplateRef.name === metadata.name);
  const ready = own.map(
    (pool) => (pool as { readonly status?: { readonly readyReplicas?: number } }).status?.readyReplicas ?? 0,
  );
  return ready.reduce((sum, count) => sum + count, 0);
}
