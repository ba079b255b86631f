import { type SandboxClaim, sandboxClaims, sandboxSnapshots } from "@agent-sandbox/api";
import {
  environmentAnnotation,
  faceLabel,
  metadataAnnotation,
  sandboxUidAnnotation,
  templateAnnotation,
} from "../../cluster/compat-annotations.ts";
import { patchClaim } from "../../cluster/lifetime.ts";
import type { Machine } from "../../cluster/machine.ts";
import { labelsOf, metadataOf } from "../../cluster/metadata.ts";
import { newName } from "../../cluster/names.ts";
import { requireConnect } from "../../control/require-connect.ts";
import { requireBound } from "../../control/require-machine.ts";
import { integerField } from "../../http/fields.ts";
import { badRequest, HttpError } from "../../http/http-error.ts";
import { asHttpError } from "../../http/kube-failure.ts";
import { readJsonObject } from "../../http/read-body.ts";
import { sendJson } from "../../http/reply.ts";
import { type ControlCall, maxControlBytes } from "./context.ts";
import { answerWithinMs } from "./create.ts";
import { probe } from "./probe.ts";
import { templateOf } from "./sandbox-json.ts";
import { sessionJson } from "./session-json.ts";
import { createSnapshot } from "./snapshots.ts";
import { deadlineAfter, timeoutField } from "./timeouts.ts";

const maxForks = 100;
/** If this server ends early, the snapshot goes after this time. */
const snapshotTtlSeconds = 3600;

/** `POST /sandboxes/{id}/fork`: new sandboxes that continue from the present state. Each of them may fail alone. */
export async function fork(call: ControlCall): Promise<void> {
  const { context, account, request } = call;
  const body = await readJsonObject(request, maxControlBytes);
  const count = integerField(body, "count") ?? 1;
  if (count < 1 || count > maxForks) throw badRequest(`count can be 1 to ${maxForks}`);
  const seconds = timeoutField(context, body, 15);
  if (seconds <= 0) throw badRequest("timeout must be at least 1 second");
  const machine = await requireBound(call);
  if (machine.claim === undefined) throw badRequest("Only sandboxes that were created from a template can be forked");
  await requireConnect(call, machine.sandbox.metadata.name ?? "");
  const signal = AbortSignal.any([call.signal, AbortSignal.timeout(answerWithinMs)]);
  const snapshot = await createSnapshot(account, machine, { depth: "Memory", ttlSeconds: snapshotTtlSeconds, signal });
  const source = { claim: machine.claim, machine, snapshot, seconds };
  const results = await Promise.all(Array.from({ length: count }, () => forkOnce(call, source, signal)));
  const { namespace } = account;
  // The forks have their own copies.
  await account.client.delete(sandboxSnapshots, { namespace, name: snapshot }).catch((err: unknown) => {
    context.log.warn({ err, snapshot: `${namespace}/${snapshot}` }, "snapshot of a fork not removed");
  });
  sendJson(call.response, 201, results);
}

interface Source {
  readonly claim: SandboxClaim;
  readonly machine: Machine;
  readonly snapshot: string;
  readonly seconds: number;
}

async function forkOnce(call: ControlCall, source: Source, signal: AbortSignal): Promise<object> {
  const { context, account } = call;
  const { client, namespace } = account;
  let claim: SandboxClaim | undefined;
  try {
    const environment = await context.environments.of(source.claim);
    claim = await client.create(sandboxClaims, forkClaim(call, source));
    const name = claim.metadata.name ?? "";
    const hasVariables = Object.keys(environment).length > 0;
    const [sandbox] = await Promise.all([
      context.directory.untilBound(claim, signal),
      hasVariables ? context.environments.store(claim, environment) : undefined,
    ]);
    const annotations = { [sandboxUidAnnotation]: sandbox.metadata.uid };
    await patchClaim(client, claim, { metadata: { annotations } });
    await probe(context, { namespace, name, sandbox }, signal);
    return { sandbox: sessionJson(context, { namespace, name, claim, sandbox }) };
  } catch (error) {
    const { namespace: place = "", name = "" } = claim?.metadata ?? {};
    if (claim !== undefined) await client.delete(sandboxClaims, { namespace: place, name }).catch(() => undefined);
    context.log.warn({ err: error, source: `${namespace}/${source.machine.name}` }, "fork failed");
    const failure = signal.aborted ? new HttpError(503, "The fork was not ready in time") : asHttpError(error);
    return { error: { code: failure.status, message: failure.message } };
  }
}

function forkClaim({ account, context }: ControlCall, { claim, machine, snapshot, seconds }: Source): SandboxClaim {
  const metadata = metadataOf(claim);
  const { annotations = {} } = claim.metadata;
  const environment = annotations[environmentAnnotation];
  return {
    apiVersion: sandboxClaims.apiVersion as SandboxClaim["apiVersion"],
    kind: "SandboxClaim",
    metadata: {
      name: newName(),
      namespace: account.namespace,
      labels: { ...labelsOf(metadata), [faceLabel]: "e2b" },
      annotations: {
        [metadataAnnotation]: JSON.stringify(metadata),
        [templateAnnotation]: templateOf(machine),
        ...(environment !== undefined && { [environmentAnnotation]: environment }),
      },
    },
    spec: {
      warmPoolRef: claim.spec.warmPoolRef,
      lifecycle: { shutdownTime: deadlineAfter(context, seconds).toISOString(), shutdownPolicy: "Delete" },
      restoreFrom: { snapshotRef: { name: snapshot } },
    },
  };
}
