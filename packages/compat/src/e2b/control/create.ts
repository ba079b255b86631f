import { isConditionTrue, type Sandbox, type SandboxClaim, sandboxClaims } from "@agent-sandbox/api";
import { isReason } from "@agent-sandbox/kube";
import {
  environmentAnnotation,
  faceLabel,
  idempotencyLabel,
  metadataAnnotation,
  requestHashAnnotation,
  sandboxUidAnnotation,
  templateAnnotation,
} from "../../cluster/compat-annotations.ts";
import { lifetimeAnnotations, patchClaim } from "../../cluster/lifetime.ts";
import { labelsOf } from "../../cluster/metadata.ts";
import { newName } from "../../cluster/names.ts";
import { poolOfTemplate } from "../../cluster/pool-of-template.ts";
import { requireConnect } from "../../control/require-connect.ts";
import { badRequest, HttpError, notFound } from "../../http/http-error.ts";
import { readJsonObject } from "../../http/read-body.ts";
import { sendJson } from "../../http/reply.ts";
import { armPause } from "./auto-pause.ts";
import { type ControlCall, maxControlBytes } from "./context.ts";
import { type CreateOptions, readCreateOptions } from "./create-options.ts";
import { findEarlier, type RequestKey, requestKeyOf } from "./idempotency.ts";
import { probe } from "./probe.ts";
import { sessionJson } from "./session-json.ts";
import { snapshotSource } from "./snapshot-source.ts";
import { deadlineAfter } from "./timeouts.ts";

/** Clients give up after 60 s. */
export const answerWithinMs = 55_000;

/** `POST /sandboxes` and `POST /v2/sandboxes`, which differ in the default timeout. Answers when the sandbox can be used. */
export async function create(call: ControlCall, defaults: { readonly timeoutSeconds: number }): Promise<void> {
  const { context, account, request } = call;
  const body = await readJsonObject(request, maxControlBytes);
  const options = readCreateOptions(context, body, defaults);
  const key = requestKeyOf(request.headers["idempotency-key"], account, body);
  await requireConnect(call, "");
  const claim = key === undefined ? await createClaim(call, options) : await claimOnce(call, options, key);
  const sandbox = await prepare(call, claim, { ...options, isRepeatable: key !== undefined });
  const machine = { namespace: account.namespace, name: claim.metadata.name ?? "", claim, sandbox };
  sendJson(call.response, 201, sessionJson(context, machine));
}

/** The claim of this request, or of an earlier attempt of it. Of attempts at the same time, all get the same. */
async function claimOnce(call: ControlCall, options: CreateOptions, key: RequestKey): Promise<SandboxClaim> {
  const { account, context } = call;
  const earlier = await findEarlier(account, key, context.now());
  if (earlier !== undefined) return earlier;
  const own = await createClaim(call, options, key);
  const first = (await findEarlier(account, key, context.now())) ?? own;
  if (first.metadata.uid !== own.metadata.uid) await remove(call, own);
  return first;
}

async function createClaim(
  { context, account }: ControlCall,
  options: CreateOptions,
  key?: RequestKey,
): Promise<SandboxClaim> {
  const { client, namespace } = account;
  const { template, metadata, environment, lifetime } = options;
  const [name = "", ...tag] = template.split(":");
  const source = await snapshotSource(account, template);
  const wanted = options.isOffline ? `${name}-offline` : (source?.template ?? name);
  const pool = await poolOfTemplate(account, wanted);
  if (pool === undefined && options.isOffline) {
    throw badRequest(`allow_internet_access=false needs a SandboxTemplate "${wanted}" with a networkPolicy`);
  }
  if (pool === undefined) throw notFound(`template '${template}' not found`);
  const annotations = {
    [metadataAnnotation]: JSON.stringify(metadata),
    [templateAnnotation]: tag.length > 0 ? name : template,
    ...(Object.keys(environment).length > 0 && { [environmentAnnotation]: "true" }),
    ...(key !== undefined && { [requestHashAnnotation]: key.request }),
    ...lifetimeAnnotations(lifetime),
  };
  const labels = {
    ...labelsOf(metadata),
    [faceLabel]: "e2b",
    ...(key !== undefined && { [idempotencyLabel]: key.key }),
  };
  return client.create(sandboxClaims, {
    apiVersion: sandboxClaims.apiVersion as SandboxClaim["apiVersion"],
    kind: "SandboxClaim",
    metadata: { name: newName(), namespace, labels, annotations },
    spec: {
      warmPoolRef: { name: pool },
      // Also with autoPause: a sandbox that no client got to know ends then.
      lifecycle: {
        shutdownTime: deadlineAfter(context, options.timeoutSeconds).toISOString(),
        shutdownPolicy: "Delete",
      },
      ...(source !== undefined && { restoreFrom: { snapshotRef: { name: source.snapshot } } }),
    },
  });
}

interface PrepareOptions extends CreateOptions {
  /** The client can send the request again, and gets the same claim then. */
  readonly isRepeatable: boolean;
}

/** Waits until the sandbox can be used. If that fails, the claim is deleted before the answer, because clients create again. */
async function prepare(call: ControlCall, claim: SandboxClaim, options: PrepareOptions): Promise<Sandbox> {
  const { context, account } = call;
  const signal = AbortSignal.any([call.signal, AbortSignal.timeout(answerWithinMs)]);
  try {
    const [sandbox] = await Promise.all([
      context.directory.untilBound(claim, signal),
      Object.keys(options.environment).length > 0 ? context.environments.store(claim, options.environment) : undefined,
    ]);
    if (isConditionTrue(sandbox.status?.conditions, "Finished")) {
      throw new HttpError(500, "The sandbox ended when it started", { headers: { "should-retry": "false" } });
    }
    const armed =
      options.lifetime.onTimeout === "pause" ? armPause(account.client, sandbox, claim, options) : undefined;
    const annotations = { [sandboxUidAnnotation]: sandbox.metadata.uid };
    const confirm = patchClaim(account.client, claim, { metadata: { annotations } });
    await Promise.all([
      armed,
      confirm,
      probe(context, { namespace: account.namespace, name: claim.metadata.name ?? "", sandbox }, signal),
    ]);
    return sandbox;
  } catch (error) {
    if (!(call.signal.aborted && options.isRepeatable)) await remove(call, claim);
    if (signal.aborted) throw new HttpError(503, "The sandbox was not ready in time", { cause: error });
    throw error;
  }
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
