import type { ObjectMeta } from "@agent-sandbox/api";

const prefix = "compat.agents.x-k8s.io";

/** On a claim, or on a Sandbox without one: the protocol that created it. */
export const faceLabel: string = `${prefix}/face`;
export type Face = "e2b" | "opensandbox" | "mcp";

/** On the same: the metadata that the client gave it, as JSON. Filters compare with this. */
export const metadataAnnotation: string = `${prefix}/metadata`;
/** On a claim: the template that the client named. */
export const templateAnnotation: string = `${prefix}/template`;
/** On a claim: the UID of its Sandbox. If the controller replaces the Sandbox, the client's sandbox is gone. */
export const sandboxUidAnnotation: string = `${prefix}/sandbox-uid`;
/** On a claim, `true`: the Secret `<claim>-compat-<UID>` has environment variables for its processes. */
export const environmentAnnotation: string = `${prefix}/environment`;
/** On a claim: a hash of the client's idempotency key. */
export const idempotencyLabel: string = `${prefix}/idempotency-key`;
/** On a claim: a hash of the request with that key. */
export const requestHashAnnotation: string = `${prefix}/request-hash`;

export const annotationOf = (
  object: { readonly metadata?: ObjectMeta } | undefined,
  name: string,
): string | undefined => object?.metadata?.annotations?.[name];
/** On a claim, `pause`: its deadline suspends the Sandbox instead of deleting it. */
export const onTimeoutAnnotation: string = `${prefix}/on-timeout`;
/** On a claim, `true`: traffic resumes the Sandbox after it was paused. */
export const autoResumeAnnotation: string = `${prefix}/auto-resume`;
/** On a claim, or on a Sandbox without one: for how many seconds it runs after its creation and after each resumption. */
export const timeoutAnnotation: string = `${prefix}/timeout-seconds`;
/** On a snapshot: the sandbox that it was taken of, as its client knows it. */
export const sourceLabel: string = `${prefix}/sandbox`;
/** On a snapshot: the name that the client gave it. */
export const snapshotNameAnnotation: string = `${prefix}/name`;
/** On a snapshot of a Sandbox without a claim: its spec, as JSON. */
export const sandboxSpecAnnotation: string = `${prefix}/sandbox-spec`;
