import { type Change, followResource, type KubeObject, type Resource } from "@agent-sandbox/kube/requests";
import { CommandError } from "../command-error.ts";
import type { Connection } from "./connect.ts";
import type { Progress } from "./progress.ts";

/** What an object shows about an operation: its result, why it failed, or what it waits for. */
export type Outcome<T> =
  | { readonly type: "done"; readonly value: T }
  | { readonly type: "failed"; readonly why: string }
  | { readonly type: "waiting"; readonly why: string };

export interface AwaitedObject<O extends KubeObject, T> {
  readonly resource: Resource<O>;
  readonly name: string;
  /** The object as users see it, as in `sandbox "web"`. */
  readonly shown: string;
  readonly timeoutMs: number;
  /** Ends the wait early. */
  readonly signal?: AbortSignal;
  readonly progress: Progress;
  readonly judge: (object: O) => Outcome<T>;
}

/** Follows an object until an operation has ended. Throws a CommandError if it failed, took too long or the object was deleted. */
export async function awaitObject<O extends KubeObject, T>(
  { client, namespace }: Connection,
  { resource, name, shown, timeoutMs, progress, judge, signal }: AwaitedObject<O, T>,
): Promise<T> {
  let last = "the server has not answered";
  const feed = followResource(client, resource, {
    namespace,
    signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]),
    fieldSelector: `metadata.name=${name}`,
    initial: "list",
    onTrouble: ({ error }) => {
      if (["Forbidden", "Unauthorized", "BadRequest", "NotFound"].includes(error.reason)) throw error;
      last = error.message;
    },
  });
  for await (const change of feed) {
    const object = latestOf(change);
    if (object === undefined) continue;
    if (object === "gone") throw new CommandError(`${shown} not found in namespace "${namespace}"`);
    const outcome = judge(object);
    if (outcome.type === "done") return outcome.value;
    if (outcome.type === "failed") throw new CommandError(`${shown}: ${outcome.why}`);
    last = outcome.why;
    progress.show(`${shown}: ${last}`);
  }
  signal?.throwIfAborted();
  throw new CommandError(
    `timed out after ${timeoutMs / 1000} s waiting for ${shown}: ${last}; use --timeout to wait longer`,
  );
}

/** The object after a change; undefined for a change without objects. */
function latestOf<O>(change: Change<O>): O | "gone" | undefined {
  if (change.type === "reset") return change.items.at(-1) ?? "gone";
  const latest = change.events.at(-1);
  return latest === undefined || latest.type === "upsert" ? latest?.object : "gone";
}
