import { createHash } from "node:crypto";
import type { KubeObject } from "@agent-sandbox/sdk/internal";
import type { Caller } from "../caller.ts";

const prefix = "mcp.agents.x-k8s.io";

/** On a claim or Sandbox: a hash of the user whose tools created it. Other users of the tools do not find it. */
export const ownerLabel: string = `${prefix}/owner`;
/** On a claim: the template that the caller named. */
export const templateAnnotation: string = `${prefix}/template`;

/** The same for every connection of a user. */
export function ownerOf({ user, workspace = "" }: Pick<Caller, "user" | "workspace">): string {
  return createHash("sha256")
    .update(JSON.stringify([user, workspace]))
    .digest("hex")
    .slice(0, 20);
}

/** Whether another user of the tools created the object. Objects that the tools did not create belong to everybody with the rights. */
export function isForeign({ metadata }: KubeObject, caller: Caller): boolean {
  const owner = metadata.labels?.[ownerLabel];
  return owner !== undefined && owner !== ownerOf(caller);
}

/** The labels that a user has chosen. */
export function ownLabels({ metadata }: KubeObject): Record<string, string> {
  return Object.fromEntries(Object.entries(metadata.labels ?? {}).filter(([key]) => !isReserved(key)));
}

/** Labels with a meaning for the platform. */
export function isReserved(label: string): boolean {
  const [domain = "", name] = label.split("/");
  return name !== undefined && /(?:^|[.-])(?:k8s|kubernetes)\.io$/.test(domain);
}
