import { type ClaimObject, claims, type KubeObject, type SandboxObject, sandboxes } from "@agent-sandbox/sdk/internal";
import type { Caller } from "../caller.ts";
import { type OnTimeout, pauseAnnotations, timeAfter } from "./lifetime.ts";
import { ownerLabel, ownerOf, templateAnnotation } from "./owner.ts";

/** What a caller asks for. */
export interface NewSandbox {
  readonly name: string;
  readonly timeoutSeconds: number;
  readonly onTimeout: OnTimeout;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Only of an image. */
  readonly suspendAfterSeconds?: number | undefined;
}

export interface Place {
  readonly caller: Caller;
  readonly namespace: string;
}

export function metadataOf({ caller, namespace }: Place, { name, labels }: NewSandbox): KubeObject["metadata"] {
  const own = { "agents.x-k8s.io/created-by": "mcp", [ownerLabel]: ownerOf(caller) };
  return { name, namespace, labels: { ...labels, ...own } };
}

/** A Sandbox that runs an image. Paths of the files API are those that commands see. */
export function sandboxOfImage(place: Place, image: string, wanted: NewSandbox): SandboxObject {
  const { timeoutSeconds, onTimeout, env, suspendAfterSeconds } = wanted;
  const metadata = metadataOf(place, wanted);
  const container = { name: "main", image, env: variablesOf({ SANDBOXD_ROOT_DIR: "/", ...env }) };
  return {
    apiVersion: sandboxes.apiVersion,
    kind: sandboxes.kind,
    metadata: { ...metadata, ...(onTimeout === "pause" && { annotations: pauseAnnotations(timeoutSeconds) }) },
    spec: {
      runtime: "Injected",
      suspendPolicy: { depth: "Memory", fallback: "Allow" },
      podTemplate: {
        spec: { automountServiceAccountToken: false, terminationGracePeriodSeconds: 1, containers: [container] },
      },
      ...(suspendAfterSeconds !== undefined && { idlePolicy: { suspendAfterSeconds } }),
      ...(onTimeout === "delete" && { shutdownTime: timeAfter(timeoutSeconds), shutdownPolicy: "Delete" }),
    },
  };
}

/** A claim of a pool. Its deadline deletes it; `pauseAtDeadline` changes that when it has a Sandbox. */
export function claimOfPool(place: Place, source: { pool: string; template: string }, wanted: NewSandbox): ClaimObject {
  const { timeoutSeconds, env } = wanted;
  const annotations = { [templateAnnotation]: source.template };
  return {
    apiVersion: claims.apiVersion,
    kind: claims.kind,
    metadata: { ...metadataOf(place, wanted), annotations },
    spec: {
      warmPoolRef: { name: source.pool },
      lifecycle: { shutdownTime: timeAfter(timeoutSeconds), shutdownPolicy: "Delete" },
      ...(env !== undefined && Object.keys(env).length > 0 && { env: variablesOf(env) }),
    },
  };
}

function variablesOf(env: Readonly<Record<string, string>>): { name: string; value: string }[] {
  return Object.entries(env).map(([name, value]) => ({ name, value }));
}
