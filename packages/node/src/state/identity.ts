import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Container, controllerOf, epochAnnotation, type Pod } from "@agent-sandbox/api";
import { podPaths } from "../layout.ts";
import type { OciMount } from "../oci/spec.ts";
import type { Machine } from "../pod/machine.ts";
import type { PodRecord } from "../pod/record.ts";
import type { ImageMeta } from "./image-meta.ts";
import { runsSandboxd } from "./sandboxd-lifecycle.ts";

/** Where containers find the identity of their sandbox, in the file `environment`. It changes when the sandbox is restored. */
const destination = "/run/agent-sandbox";
export const identityFile: string = `${destination}/environment`;

/** Writes the identity of a Pod's sandbox and returns the mount of its folder, if the Pod has it. */
export function identityMounts(
  { layout }: Pick<Machine, "layout">,
  pod: Pod,
  record: PodRecord,
  container: Container,
): OciMount[] {
  if (record.identity !== true || hidesIdentity(container)) return [];
  const { identity, files } = podPaths(layout, record.uid);
  // The root user of a Pod with a user namespace cannot reach the Pod's folder.
  const source = record.ids === undefined ? identity : join(files, "identity");
  mkdirSync(source, { recursive: true, mode: 0o755 });
  writeFileSync(join(source, ".environment"), identityText(pod, record), { mode: 0o644 });
  renameSync(join(source, ".environment"), join(source, "environment"));
  return [{ destination, type: "bind", source, options: ["rbind", "ro", "rprivate", "nosuid", "nodev", "noexec"] }];
}

function hidesIdentity({ volumeMounts = [] }: Container): boolean {
  return volumeMounts.some(({ mountPath }) => mountPath === destination);
}

/** Whether sandboxd could not learn in a fork that it is no longer the source: it would refuse what is sent to the fork. */
export function keepsIdentityOfSource(pod: Pod, { identity }: Pick<ImageMeta, "identity">): boolean {
  const [first] = pod.spec?.containers ?? [];
  return runsSandboxd(pod) && first !== undefined && (!identity || hidesIdentity(first));
}

/** The epoch is on the Pod, and everything else was verified when the Pod was set up. */
export function identityText(pod: Pod, { namespace, keptFor = "" }: Pick<PodRecord, "namespace" | "keptFor">): string {
  const epoch = pod.metadata?.annotations?.[epochAnnotation] ?? "0";
  const lines = {
    SANDBOX_NAME: controllerOf(pod)?.name ?? "",
    SANDBOX_NAMESPACE: namespace,
    SANDBOX_UID: keptFor,
    SANDBOX_EPOCH: /^\d{1,15}$/.test(epoch) ? epoch : "0",
  };
  return Object.entries(lines)
    .map(([name, value]) => `${name}=${value}\n`)
    .join("");
}
