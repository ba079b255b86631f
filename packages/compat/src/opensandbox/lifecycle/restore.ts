import { type Sandbox, type SandboxClaim, sandboxClaims, sandboxes } from "@agent-sandbox/api";
import { annotationOf, sandboxSpecAnnotation, templateAnnotation } from "../../cluster/compat-annotations.ts";
import type { Machine } from "../../cluster/machine.ts";
import type { Account } from "../../keys/accounts.ts";
import { invalidState } from "../failure.ts";
import { findSnapshot, snapshotStatus } from "./snapshots.ts";

export interface ObjectParts {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly deadline: Date | undefined;
}

/** A sandbox that continues from a snapshot: a Sandbox with the spec of the first one, or a claim of its pool. */
export async function restore(account: Account, snapshot: string, parts: ObjectParts): Promise<Machine> {
  const { client, namespace } = account;
  const found = await findSnapshot(account, snapshot);
  const { state } = snapshotStatus(found);
  if (state !== "Ready") throw invalidState(`Snapshot ${snapshot} is ${state}, not Ready`);
  const { name, deadline } = parts;
  const restoreFrom = { snapshotRef: { name: snapshot } };
  const metadata = { name, namespace, labels: { ...parts.labels }, annotations: { ...parts.annotations } };
  const lifetime =
    deadline === undefined ? {} : { shutdownTime: deadline.toISOString(), shutdownPolicy: "Delete" as const };
  const pool = annotationOf(found, templateAnnotation);
  if (pool !== undefined) {
    const claim = await client.create(sandboxClaims, {
      apiVersion: sandboxClaims.apiVersion as SandboxClaim["apiVersion"],
      kind: "SandboxClaim",
      metadata,
      spec: { warmPoolRef: { name: pool }, restoreFrom, ...(deadline !== undefined && { lifecycle: lifetime }) },
    });
    return { namespace, name, claim, sandbox: undefined };
  }
  const sandbox = await client.create(sandboxes, {
    apiVersion: sandboxes.apiVersion as Sandbox["apiVersion"],
    kind: "Sandbox",
    metadata,
    spec: { ...specIn(annotationOf(found, sandboxSpecAnnotation), snapshot), ...lifetime, restoreFrom },
  });
  return { namespace, name, claim: undefined, sandbox };
}

/** Whoever may write the annotation may create a Sandbox with that spec: the API server checks it like every other one. */
function specIn(text: string | undefined, snapshot: string): Sandbox["spec"] {
  try {
    const value: unknown = JSON.parse(text ?? "");
    if (typeof value === "object" && value !== null) return value as Sandbox["spec"];
  } catch {
    // Changed by somebody.
  }
  throw invalidState(`Snapshot ${snapshot} does not say what its sandbox was made of`);
}
