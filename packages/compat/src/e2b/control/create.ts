import { isConditionTrue, type Sandbox, type SandboxClaim, sandboxClaims } from "@agent-sandbox/api";
import { isReason } from "@agent-sandbox/kube";
import { sandboxUidAnnotation } from "../../cluster/compat-annotations.ts";
import { patchClaim } from "../../cluster/lifetime.ts";
import { find, type Machine, machineOfClaim } from "../../cluster/machine.ts";
import { requireConnect } from "../../control/require-connect.ts";
import { noSuchSandbox } from "../../control/require-machine.ts";
import { HttpError } from "../../http/http-error.ts";
import { readJsonObject } from "../../http/read-body.ts";
import { sendJson } from "../../http/reply.ts";
import { armPause } from "./auto-pause.ts";
import { type ControlCall, maxControlBytes } from "./context.ts";
import { createClaim } from "./create-claim.ts";
import { type CreateOptions, readCreateOptions } from "./create-options.ts";
import { claimOnce, requestKeyOf, wasAnswered } from "./idempotency.ts";
import { probe } from "./probe.ts";
import { sessionJson } from "./session-json.ts";

/** Clients give up after 60 s. */
export const answerWithinMs = 55_000;

/** `POST /sandboxes` and `POST /v2/sandboxes`, which differ in the default timeout. Answers when the sandbox can be used. */
export async function create(call: ControlCall, defaults: { readonly timeoutSeconds: number }): Promise<void> {
  const { context, account, request } = call;
  const body = await readJsonObject(request, maxControlBytes);
  const options = readCreateOptions(context, body, defaults);
  const key = requestKeyOf(request.headers["idempotency-key"], account, body);
  await requireConnect(call, "");
  const signal = AbortSignal.any([call.signal, AbortSignal.timeout(answerWithinMs)]);
  const createNow = (): Promise<SandboxClaim> => createClaim(call, options, key);
  const claim = key === undefined ? await createNow() : await claimOnce(account, key, { create: createNow, signal });
  const attempt = { ...options, signal, isRepeatable: key !== undefined };
  const machine = wasAnswered(claim) ? await answeredBefore(call, claim) : await prepare(call, claim, attempt);
  sendJson(call.response, 201, sessionJson(context, machine));
}

type Bound = Machine & { readonly claim: SandboxClaim; readonly sandbox: Sandbox };

/** The sandbox of an earlier answer, which may run or be paused. */
async function answeredBefore({ account }: ControlCall, claim: SandboxClaim): Promise<Bound> {
  const { sandbox, ...machine } = (await machineOfClaim(account, claim)) ?? {};
  const { name = "" } = claim.metadata;
  if (sandbox === undefined) throw noSuchSandbox(name);
  return { namespace: account.namespace, name, ...machine, claim, sandbox };
}

interface Attempt extends CreateOptions {
  readonly signal: AbortSignal;
  /** The client can send the request again, and gets the same claim then. */
  readonly isRepeatable: boolean;
}

/** Waits until the sandbox can be used. If that fails, the claim is deleted before the answer, because clients create again. */
async function prepare(call: ControlCall, claim: SandboxClaim, attempt: Attempt): Promise<Bound> {
  const { signal, isRepeatable } = attempt;
  try {
    const sandbox = await startSandbox(call, claim, attempt);
    return { namespace: call.account.namespace, name: claim.metadata.name ?? "", claim, sandbox };
  } catch (error) {
    if (!isRepeatable) await remove(call, claim);
    const answered = isRepeatable && !call.signal.aborted ? await removeUnanswered(call, claim) : undefined;
    if (answered !== undefined) return answeredBefore(call, answered);
    // Another attempt has removed the claim.
    const isRemoved = isRepeatable && isReason(error, "NotFound", "Conflict");
    if (signal.aborted || isRemoved) throw new HttpError(503, "The sandbox was not ready in time", { cause: error });
    throw error;
  }
}

async function startSandbox(call: ControlCall, claim: SandboxClaim, attempt: Attempt): Promise<Sandbox> {
  const { context, account } = call;
  const { signal, environment, lifetime, isRepeatable } = attempt;
  const { namespace } = account;
  const [sandbox] = await Promise.all([
    context.directory.untilBound(claim, signal),
    Object.keys(environment).length > 0 ? context.environments.store(claim, environment) : undefined,
  ]);
  if (isConditionTrue(sandbox.status?.conditions, "Finished")) {
    throw new HttpError(500, "The sandbox ended when it started", { headers: { "should-retry": "false" } });
  }
  const confirm = (): Promise<unknown> =>
    patchClaim(account.client, claim, { metadata: { annotations: { [sandboxUidAnnotation]: sandbox.metadata.uid } } });
  await Promise.all([
    lifetime.onTimeout === "pause" ? armPause(account.client, sandbox, claim, attempt) : undefined,
    probe(context, { namespace, name: claim.metadata.name ?? "", sandbox }, signal),
    isRepeatable ? undefined : confirm(),
  ]);
  // From here on no attempt removes the claim.
  if (isRepeatable) await confirm();
  return sandbox;
}

async function remove({ account, context }: ControlCall, { metadata }: SandboxClaim): Promise<void> {
  const { namespace = "", name = "", uid = "" } = metadata;
  try {
    await account.client.delete(sandboxClaims, { namespace, name }, { preconditions: { uid } });
  } catch (error) {
    if (isReason(error, "NotFound")) return;
    context.log.warn({ err: error, claim: `${namespace}/${name}` }, "claim not removed");
  }
}

const maxRemovals = 10;

/** Deletes a claim, unless another attempt of the same request has answered with it. Returns the claim in that case. */
async function removeUnanswered(
  { account: { client }, context }: ControlCall,
  { metadata }: SandboxClaim,
): Promise<SandboxClaim | undefined> {
  const { namespace = "", name = "", uid = "" } = metadata;
  for (let count = 0; count < maxRemovals; count++) {
    try {
      const current = await find(client, sandboxClaims, { namespace, name });
      if (current === undefined || current.metadata.uid !== uid) return undefined;
      if (wasAnswered(current)) return current;
      const { resourceVersion = "" } = current.metadata;
      await client.delete(sandboxClaims, { namespace, name }, { preconditions: { uid, resourceVersion } });
      return undefined;
    } catch (error) {
      if (isReason(error, "NotFound")) return undefined;
      if (isReason(error, "Conflict")) continue;
      context.log.warn({ err: error, claim: `${namespace}/${name}` }, "claim not removed");
      return undefined;
    }
  }
  context.log.warn({ claim: `${namespace}/${name}` }, "claim not removed");
  return undefined;
}
