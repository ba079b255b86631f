import type { IncomingMessage } from "node:http";
import { readBody } from "../http/read-body.ts";

/** The router answered instead of the sandbox. `reason` is its `X-Sandbox-Reason`. */
export class RouterRefusal extends Error {
  override readonly name = "RouterRefusal";
  readonly reason: string;
  readonly status: number;

  constructor(reason: string, status: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
    this.status = status;
  }
}

const maxRefusalBytes = 64 * 1024;

/** Undefined if the answer is the sandbox's own. Only the router can set the header. */
export async function refusalOf(answer: IncomingMessage): Promise<RouterRefusal | undefined> {
  const reason = answer.headers["x-sandbox-reason"];
  if (typeof reason !== "string") return undefined;
  const text = (await readBody(answer, maxRefusalBytes)).toString("utf8");
  return new RouterRefusal(reason, answer.statusCode ?? 502, detailOf(text) ?? reason);
}

function detailOf(text: string): string | undefined {
  try {
    const { detail } = JSON.parse(text) as { readonly detail?: unknown };
    return typeof detail === "string" ? detail : undefined;
  } catch {
    return undefined;
  }
}

export function unreachable(cause: Error): Error {
  return cause.name === "AbortError"
    ? cause
    : new RouterRefusal("RouterUnreachable", 503, "The router cannot be reached", { cause });
}

/** The sandbox does not exist any more, or does not run. For clients of E2B both are the same. */
export function isGone({ reason }: RouterRefusal): boolean {
  return ["SandboxNotFound", "SandboxExpired", "SandboxSuspended", "SandboxFinished", "SandboxStopped"].includes(
    reason,
  );
}
