import {
  blueprintChoices,
  controllerReference,
  type Pod,
  type PodSpec,
  podSpecHashAnnotation,
  type Sandbox,
  sandboxes,
} from "@agent-sandbox/api";
import { podMetadata } from "./pod-metadata.ts";
import { specMark } from "./pod-outdated.ts";
import { type Source, stateAnnotations } from "./pod-source.ts";
import { restartCountAnnotation } from "./recovery.ts";
import { injectRuntime } from "./runtime-injection.ts";
import type { Settings } from "./settings.ts";
import { claimTemplates } from "./volume-claims.ts";

/** The Pod to create for a Sandbox. Its name, and so its hostname, is the Sandbox's. */
export function desiredPod(
  sandbox: Sandbox,
  settings: Settings,
  { source, restartCount = 0 }: { readonly source: Source; readonly restartCount?: number },
): Pod {
  const { name = "", namespace = "" } = sandbox.metadata;
  const { labels, annotations } = podMetadata(sandbox, settings);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace,
      labels,
      annotations: {
        ...annotations,
        [podSpecHashAnnotation]: specMark(sandbox),
        ...stateAnnotations(sandbox, source),
        ...(restartCount > 0 && { [restartCountAnnotation]: String(restartCount) }),
      },
      ownerReferences: [controllerReference(sandboxes, sandbox)],
    },
    spec: podSpec(sandbox, settings),
  };
}

function podSpec(sandbox: Sandbox, { runtime }: Settings): PodSpec {
  const spec = withClaimedVolumes(sandbox);
  const isInjected = blueprintChoices(sandbox.spec).runtime === "Injected" && runtime !== undefined;
  return isInjected ? injectRuntime(spec, runtime, sandbox) : spec;
}

/** The volume of a volume claim replaces a volume of the same name in the template. */
function withClaimedVolumes(sandbox: Sandbox): PodSpec {
  const { spec } = sandbox.spec.podTemplate;
  const claimed = claimTemplates(sandbox).map(({ entry, claimName }) => ({
    name: entry,
    persistentVolumeClaim: { claimName },
  }));
  if (claimed.length === 0) return spec;
  const names = new Set(claimed.map(({ name }) => name));
  return { ...spec, volumes: [...(spec.volumes ?? []).filter(({ name }) => !names.has(name)), ...claimed] };
}
