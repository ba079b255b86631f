import { z } from "zod";

const label = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

export const sandboxName = z
  .string()
  .regex(label, "must be a name of lower-case letters, digits and hyphens, at most 63 characters");

export const namespace = z
  .string()
  .regex(label, "must be the name of a namespace")
  .optional()
  .describe("Kubernetes namespace. Default: that of the connection");

/** Arguments of tools that cannot use the default sandbox. */
export const named = {
  sandbox: sandboxName.describe("Name of the sandbox"),
  namespace,
};

/** Arguments of tools that work in a sandbox. */
export const inSandbox = {
  sandbox: sandboxName
    .optional()
    .describe("Name of the sandbox. Default: your own default sandbox, if the server has one"),
  namespace,
};

export const path = z
  .string()
  .min(1)
  .max(4096)
  .refine((text) => !text.includes("\0"), "must not contain a zero byte");

export const variables = z
  .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,255}$/, "must be the name of a variable"), z.string().max(131_072))
  .optional();

export const seconds = (least: number, most: number): z.ZodNumber => z.number().min(least).max(most);

export const longestLifetimeSeconds = 86_400;
