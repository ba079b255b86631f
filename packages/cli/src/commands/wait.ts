import { sandboxes } from "@agent-sandbox/api";
import { type Change, followResource, isReason, type KubeError, type KubeObject } from "@agent-sandbox/kube/requests";
import { type Connection, connect, type GlobalOptions } from "../client/connect.ts";
import { discover, displayName, resolveResource, type ServedResource } from "../client/discovery.ts";
import { sandboxOfClaim } from "../client/find-sandbox.ts";
import { listStep } from "../client/next-step.ts";
import { explainedBy, podTrouble } from "../client/pod-trouble.ts";
import {
  meets,
  parseDuration,
  parseWaitedCondition,
  standing,
  type WaitedCondition,
} from "../client/wait-condition.ts";
import { isSandboxes } from "../client/wide-columns.ts";
import { CommandError } from "../command-error.ts";

export interface WaitOptions extends GlobalOptions {
  readonly for: string;
  readonly timeout: string;
}

/** Waits for one object after the other; the timeout is that of all. */
export async function wait(targets: readonly string[], options: WaitOptions): Promise<void> {
  const wanted = parseWaitedCondition(options.for);
  const timeoutMs = parseDuration(options.timeout);
  const names = targets.map((target) => {
    const [type = "", name] = target.split("/");
    if (!name) throw new CommandError(`Cannot wait for "${target}": write type/name, as in sandbox/my-sandbox`);
    return { type, name };
  });
  await using connection = await connect(options);
  const types = await discover(connection.transport);
  const waited = await Promise.all(
    names.map(async ({ type, name }) => {
      const resource = resolveResource(type, types);
      return { resource, name: isSandboxes(resource) ? await sandboxNamed(connection, name) : name };
    }),
  );
  const signal = AbortSignal.timeout(timeoutMs);
  for (const { resource, name } of waited) await waitForOne(connection, resource, { name, wanted, signal });
}

/** The name of a sandbox, or that of the sandbox that a claim of this name holds. */
async function sandboxNamed(connection: Connection, name: string): Promise<string> {
  const { client, namespace } = connection;
  try {
    await client.get(sandboxes, { name, namespace });
    return name;
  } catch (error) {
    // The wait itself reports what is not allowed.
    if (!isReason(error, "NotFound")) return name;
    return (await sandboxOfClaim(connection, name)) ?? name;
  }
}

interface Wait {
  readonly name: string;
  readonly wanted: WaitedCondition | "delete";
  readonly signal: AbortSignal;
}

async function waitForOne(
  connection: Connection,
  resource: ServedResource,
  { name, wanted, signal }: Wait,
): Promise<void> {
  const shown = displayName(resource, name);
  let last = "the server has not answered";
  const feed = followResource(connection.client, resource, {
    ...(resource.namespaced && { namespace: connection.namespace }),
    signal,
    fieldSelector: `metadata.name=${name}`,
    initial: "list",
    onTrouble: ({ error }) => {
      last = refused(error);
    },
  });
  for await (const change of feed) {
    const seen = judge(change, wanted);
    if (seen.verdict === "gone")
      throw new CommandError(`${shown} ${seen.why}; ${listStep(resource.plural, connection.namespace)}`);
    if (seen.verdict === "met") return console.log(`${shown} condition met`);
    last = seen.why ?? last;
  }
  const trouble = resource.kind === "Sandbox" ? await podTrouble(connection, name) : undefined;
  throw new CommandError(`timed out waiting for the condition on ${shown}: ${explainedBy(last, trouble)}`);
}

/** Throws errors that a retry cannot fix. */
function refused(error: KubeError): string {
  if (["Forbidden", "Unauthorized", "BadRequest"].includes(error.reason)) throw error;
  return error.message;
}

export interface Judgement {
  readonly verdict: "met" | "gone" | "waiting";
  readonly why?: string;
}

/** Evaluates a change of the awaited object. A deleted object meets no condition. */
export function judge(change: Change<KubeObject>, wanted: WaitedCondition | "delete"): Judgement {
  const events = change.type === "reset" ? change.items.map((object) => ({ type: "upsert", object })) : change.events;
  const [latest] = events.slice(-1);
  if (latest === undefined && change.type === "changes") return { verdict: "waiting" };
  const there = latest?.type === "upsert";
  if (wanted === "delete") return there ? { verdict: "waiting", why: "it still exists" } : { verdict: "met" };
  if (events.some(({ type, object }) => type === "upsert" && meets(object, wanted))) return { verdict: "met" };
  if (!there) return { verdict: "gone", why: latest === undefined ? "not found" : "was deleted" };
  return { verdict: "waiting", why: standing(latest.object, wanted) };
}
