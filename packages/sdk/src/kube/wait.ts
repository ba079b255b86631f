import type { Deadline } from "../deadline.ts";
import { isSandboxError, SandboxError } from "../errors.ts";
import { ConnectionLost } from "../http/exchange.ts";
import type { ApiServer, ObjectName } from "./api-server.ts";
import type { KubeObject, Resource } from "./resources.ts";

/** What a state of an object means to somebody who waits for it. */
export type Verdict<V> =
  | { readonly type: "done"; readonly value: V }
  | { readonly type: "failed"; readonly message: string; readonly serverReason?: string }
  | { readonly type: "waiting"; readonly why: string };

export interface Wait<T extends KubeObject, V> {
  readonly resource: Resource<T>;
  readonly name: ObjectName;
  readonly deadline: Deadline;
  /** The beginning of the error message. */
  readonly doing: string;
  /** The state to start from. Absent: the object is read first. */
  readonly from?: T;
  judge(object: T): Verdict<V>;
}

/** Watches an object until it is done or has failed. Rejects with `Starting` and the last state if the deadline comes first. */
export async function waitFor<T extends KubeObject, V>(api: ApiServer, wait: Wait<T, V>): Promise<V> {
  const { resource, name, deadline, doing } = wait;
  let why = "the server has not reported its state";
  const judge = (object: T): V | undefined => {
    const verdict = wait.judge(object);
    if (verdict.type === "done") return verdict.value;
    if (verdict.type === "waiting") why = verdict.why;
    else throw new SandboxError("Failed", `${doing}: ${verdict.message}`, serverReasonOf(verdict.serverReason));
    return undefined;
  };
  try {
    for (let current = wait.from; ; current = undefined) {
      current ??= await api.get(resource, name, deadline);
      const uid = current.metadata.uid;
      const value = judge(current) ?? (await watchFrom(api, wait, { current, uid, judge }));
      if (value !== undefined) return value;
    }
  } catch (error) {
    if (!isSandboxError(error, "TimedOut")) throw error;
    throw new SandboxError("Starting", `${error.message}; last state: ${why}`, { cause: error });
  }
}

/** Returns undefined when the connection ends: the object is then read again. */
async function watchFrom<T extends KubeObject, V>(
  api: ApiServer,
  { resource, name, deadline, doing }: Wait<T, V>,
  { current, uid, judge }: { current: T; uid: string | undefined; judge: (object: T) => V | undefined },
): Promise<V | undefined> {
  const resourceVersion = current.metadata.resourceVersion ?? "0";
  try {
    for await (const { type, object } of api.watch(resource, name, { resourceVersion, deadline })) {
      if (type === "ERROR") return undefined;
      if (type === "DELETED" || (uid !== undefined && object.metadata.uid !== uid)) {
        throw new SandboxError("NotFound", `${doing}: ${resource.kind} "${name.name}" was deleted`);
      }
      const value = judge(object);
      if (value !== undefined) return value;
    }
  } catch (error) {
    if (!(error instanceof ConnectionLost) && !isSandboxError(error, "Conflict")) throw error;
  }
  await deadline.sleep(pauseMs);
  return undefined;
}

/** Between two watches, so that a server that ends them at once is not overloaded. */
const pauseMs = 100;

function serverReasonOf(serverReason: string | undefined): { readonly serverReason?: string } {
  return serverReason === undefined ? {} : { serverReason };
}
