/** What a template or sandbox asks for, as texts. Pure. */
import type { Sandbox, SandboxTemplate } from "@agent-sandbox/api";
import { formatDuration } from "../components/format.ts";

type Spec = Sandbox["spec"] | SandboxTemplate["spec"];

export function imageIn({ podTemplate }: Spec): string {
  return podTemplate?.spec?.containers?.[0]?.image ?? "";
}

/** As in `1 CPU, 512Mi`. Empty: no limit. */
export function limitsIn({ podTemplate }: Spec): string {
  const { cpu, memory } = podTemplate?.spec?.containers?.[0]?.resources?.limits ?? {};
  return [cpu === undefined ? "" : `${cpu} CPU`, memory ?? ""].filter((part) => part !== "").join(", ");
}

/** As in `after 10 min, keeps memory`. */
export function sleepIn({ idlePolicy, suspendPolicy }: Spec): string {
  const seconds = idlePolicy?.suspendAfterSeconds;
  const kept = suspendPolicy?.depth === undefined ? "" : `, keeps ${depthTitle(suspendPolicy.depth)}`;
  return seconds === undefined ? `never by itself${kept}` : `after ${formatDuration(seconds * 1000)}${kept}`;
}

export function depthTitle(depth: string): string {
  const titles: Readonly<Record<string, string>> = { Memory: "memory", Filesystem: "files", Volumes: "volumes" };
  return titles[depth] ?? depth;
}
