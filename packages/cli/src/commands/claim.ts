import { randomBytes } from "node:crypto";
import {
  findCondition,
  type SandboxClaim,
  sandboxClaims,
  sandboxes,
  sandboxWarmPools,
  trackedPodName,
} from "@agent-sandbox/api";
import { isReason } from "@agent-sandbox/kube/requests";
import { awaitObject, type Outcome } from "../client/await-object.ts";
import { type Connection, connect, type GlobalOptions } from "../client/connect.ts";
import { untilReady } from "../client/create-sandbox.ts";
import { Progress } from "../client/progress.ts";
import { expiringClaim, leaseMs, Removal, shutdownIn } from "../client/removal.ts";
import { SignalForwarder } from "../client/signals.ts";
import { findTemplate, poolOfTemplate } from "../client/template-pool.ts";
import { parseDuration } from "../client/wait-condition.ts";
import { CommandError } from "../command-error.ts";
import { opensShell, runSession, type SessionOptions } from "./run.ts";

export interface ClaimOptions extends GlobalOptions, SessionOptions {
  readonly name?: string;
}

/** Claims a sandbox from a pool, or one made from a template. Prints its name, or runs a command in it. */
export async function claim(source: string, words: readonly string[], options: ClaimOptions): Promise<void> {
  const timeoutMs = parseDuration(options.timeout);
  const runs = words.length > 0 || opensShell(options);
  if (options.rm === true && !runs) {
    throw new CommandError("--rm deletes the claim after a command: name one after --, or use -it for a shell");
  }
  await using signals = new SignalForwarder();
  await using connection = await connect(options);
  const pool = await findPool(connection, source);
  // If this program is killed, the server deletes the claim.
  const lease = options.rm === true ? expiringClaim.expiry(shutdownIn(timeoutMs + leaseMs)) : {};
  const created = await createClaim(connection, { name: options.name, pool, lease });
  const name = created.metadata.name ?? "";
  // A claim that does not become ready is deleted again.
  await using removal = new Removal(connection, expiringClaim, created);
  const sandbox = await untilBound(connection, name, { timeoutMs, interrupted: signals.interrupted });
  await untilReady(connection, sandbox, { timeoutMs, interrupted: signals.interrupted });
  if (options.rm === true) removal.renewLease();
  else removal.cancel();
  if (!runs) {
    console.log(sandbox);
    return;
  }
  if (options.rm !== true) {
    console.error(
      `claim "${name}" has sandbox "${sandbox}"; delete both with: agent-sandbox delete sandboxclaim/${name}`,
    );
  }
  const { namespace } = connection;
  const found = await connection.client.get(sandboxes, { name: sandbox, namespace });
  process.exitCode = await runSession({ connection, signals, pod: trackedPodName(found) }, words, options);
}

/** A pool of this name, otherwise a pool of the template of this name. */
async function findPool(connection: Connection, source: string): Promise<string> {
  const { client, namespace } = connection;
  try {
    await client.get(sandboxWarmPools, { name: source, namespace });
    return source;
  } catch (error) {
    if (!isReason(error, "NotFound")) throw error;
  }
  const template = await findTemplate(connection, namespace, source);
  if (template !== undefined) return poolOfTemplate(connection, namespace, template);
  throw new CommandError(
    `there is no SandboxWarmPool and no SandboxTemplate "${source}" in namespace "${namespace}"; list them with: agent-sandbox template ls`,
  );
}

async function createClaim(
  { client, namespace }: Connection,
  { name, pool, lease }: { readonly name: string | undefined; readonly pool: string; readonly lease: object },
): Promise<SandboxClaim> {
  const own = name ?? `claim-${randomBytes(4).toString("hex")}`;
  try {
    return await client.create(sandboxClaims, {
      apiVersion: "extensions.agents.x-k8s.io/v1beta1",
      kind: "SandboxClaim",
      metadata: { name: own, namespace },
      spec: { warmPoolRef: { name: pool }, ...lease },
    });
  } catch (error) {
    if (!isReason(error, "AlreadyExists")) throw error;
    throw new CommandError(`claim "${own}" already exists: choose another --name, or use its sandbox with "exec"`);
  }
}

/** Waits until a claim has a sandbox. Returns its name. */
async function untilBound(
  connection: Connection,
  name: string,
  { timeoutMs, interrupted }: { readonly timeoutMs: number; readonly interrupted: AbortSignal },
): Promise<string> {
  using progress = new Progress();
  try {
    return await awaitObject(connection, {
      resource: sandboxClaims,
      name,
      shown: `claim "${name}"`,
      timeoutMs,
      progress,
      judge: bindingOutcome,
      signal: interrupted,
    });
  } catch (error) {
    interrupted.throwIfAborted();
    throw error;
  }
}

/** Reasons for which a claim gets no sandbox unless somebody changes an object. */
const finalReasons: readonly string[] = [
  "TemplateNotFound",
  "WarmPoolNotFound",
  "InvalidMetadata",
  "EnvVarsInjectionRejected",
  "VolumeClaimTemplatesError",
  "ClaimExpired",
];

export function bindingOutcome({ status }: SandboxClaim): Outcome<string> {
  const { name } = status?.sandbox ?? {};
  if (name) return { type: "done", value: name };
  const { reason = "", message } = findCondition(status?.conditions, "Ready") ?? {};
  const why = message || reason || "waiting for a sandbox";
  return finalReasons.includes(reason)
    ? { type: "failed", why: `it gets no sandbox: ${why}` }
    : { type: "waiting", why };
}
