import { z } from "zod";
import { createSandbox } from "../sandboxes/create-sandbox.ts";
import { describedSandbox, describeSandbox } from "../sandboxes/describe-sandbox.ts";
import { longestLifetimeSeconds, namespace, sandboxName, seconds, variables } from "./arguments.ts";
import { defineTool, type Tool } from "./tool.ts";

export const createSandboxTool: Tool = defineTool({
  name: "create_sandbox",
  title: "Create a sandbox",
  description:
    "Create an isolated Linux sandbox and wait until it can be used. With a name, an existing sandbox of yours with that name is returned instead.",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  input: z.strictObject({
    template: sandboxName.optional().describe("SandboxTemplate or SandboxWarmPool; list_templates lists them"),
    image: z.string().min(1).max(512).optional().describe("Container image, instead of a template"),
    name: sandboxName.optional().describe("Default: a new random name"),
    timeout_seconds: seconds(10, longestLifetimeSeconds).default(3600).describe("Lifetime of the sandbox"),
    on_timeout: z.enum(["delete", "pause"]).default("delete").describe("What happens after timeout_seconds"),
    env: variables.describe("Environment variables. They make a sandbox of a template start slower"),
    labels: z
      .record(z.string().max(320), z.string().max(63))
      .optional()
      .describe("Kubernetes labels, to find the sandbox again"),
    wait_seconds: seconds(0, 600).default(60).describe("How long to wait until it is ready"),
    namespace,
  }),
  output: describedSandbox.extend({ url_pattern: z.string() }),
  async run({ template, image, name, env, labels, ...rest }, call) {
    const { namespace = call.caller.namespace, timeout_seconds: timeoutSeconds, on_timeout: onTimeout } = rest;
    const wanted = { name, template, image, env, labels, timeoutSeconds, onTimeout, waitMs: rest.wait_seconds * 1000 };
    const described = describeSandbox(await createSandbox(call, namespace, wanted));
    const text = `Sandbox ${described.sandbox} is ${described.status}. It is ${onTimeout}d at ${described.expires_at ?? "no fixed time"}.`;
    return { structured: { ...described, url_pattern: urlPattern(call.caller.router.url, described) }, text };
  },
});

/** The address of a port. expose_port returns it with a credential. */
function urlPattern(
  router: string,
  { sandbox, namespace }: { readonly sandbox: string; readonly namespace: string },
): string {
  return `${router}/sandboxes/${namespace}/${sandbox}/{port}/`;
}
