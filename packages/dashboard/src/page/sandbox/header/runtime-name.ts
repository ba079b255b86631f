import type { Pod, Sandbox } from "@agent-sandbox/api";

/** As in `gVisor, sandboxd`: what isolates the sandbox, and whether it serves the runtime API. Without a class: the machine's default. */
export function runtimeOf(sandbox: Sandbox, pod?: Pod): string {
  const name = pod?.spec?.runtimeClassName ?? sandbox.spec.podTemplate?.spec?.runtimeClassName;
  const shown = name === undefined ? "machine default" : name === "gvisor" ? "gVisor" : name;
  return hasRuntimeApi(sandbox) ? `${shown}, sandboxd` : shown;
}

/** Whether sandboxd runs in the sandbox: it serves files, processes, ports and terminals that can be continued. */
export function hasRuntimeApi({ spec }: Sandbox): boolean {
  return spec.runtime === "Injected";
}
