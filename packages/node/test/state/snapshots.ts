import {
  isConditionTrue,
  type Pod,
  type PodSpec,
  restoreAnnotation,
  type Sandbox,
  type SandboxSnapshot,
  type SandboxSnapshotSpec,
  type SandboxSpec,
  sandboxes,
  sandboxSnapshots,
} from "@agent-sandbox/api";
import { isReady, keepingMetadata, namespace } from "../../src/testing/test-api.ts";
import type { TestBox } from "../../src/testing/test-box.ts";
import { conditionOf } from "./saved-pods.ts";

/** A Sandbox without its controller: the test creates the Pods that the controller would create. */
export interface BareSandbox {
  readonly name: string;
  readonly uid: string;
  /** Starts the Pod, and waits until it is ready. */
  start(): Promise<Pod>;
  /** Starts the Pod from a snapshot, and returns it with the answer. */
  restore(uid: string): Promise<Pod>;
}

export async function bareSandbox(
  box: TestBox,
  name: string,
  { spec, ...fields }: { readonly spec: Partial<PodSpec> } & Partial<SandboxSpec>,
): Promise<BareSandbox> {
  const sandbox = await box.api.client.create(sandboxes, {
    metadata: { namespace, name },
    spec: { podTemplate: { spec: { containers: [] } }, ...fields },
  } as unknown as Sandbox);
  const create = (annotations: Record<string, string>): Promise<void> => {
    const metadata = keepingMetadata(sandbox);
    return box.create(name, {
      metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } },
      spec,
    });
  };
  return {
    name,
    uid: sandbox.metadata.uid ?? "",
    start: async () => {
      await create({});
      return box.api.until(name, isReady);
    },
    restore: async (uid) => {
      await create({ [restoreAnnotation]: `snapshot/${uid}`, "agents.x-k8s.io/epoch": "1" });
      return box.api.until(name, (pod) => {
        const answer = conditionOf(pod, "PodRestored");
        return answer?.status === "False" || (answer?.status === "True" && isReady(pod));
      });
    },
  };
}

/** Creates a SandboxSnapshot and waits until it is ready or has failed. */
export async function takeSnapshot(
  box: TestBox,
  name: string,
  sandbox: string,
  spec: Partial<SandboxSnapshotSpec> = {},
): Promise<SandboxSnapshot> {
  await box.api.client.create(sandboxSnapshots, {
    metadata: { namespace, name },
    spec: { sandboxRef: { name: sandbox }, ...spec },
  } as SandboxSnapshot);
  return untilSnapshot(box, name, ({ status }) =>
    ["Ready", "Failed"].some((type) => isConditionTrue(status?.conditions, type)),
  );
}

export function untilSnapshot(
  { api: { server } }: TestBox,
  name: string,
  isWanted: (snapshot: SandboxSnapshot) => boolean,
): Promise<SandboxSnapshot> {
  return new Promise((resolve) => {
    const look = (): void => {
      const found = server.read(sandboxSnapshots, { namespace, name });
      if (found !== undefined && isWanted(found)) resolve(found);
    };
    server.onChange(look);
    look();
  });
}

/** Why a snapshot has failed, or undefined. */
export function failureOf({ status }: SandboxSnapshot): string | undefined {
  const failed = status?.conditions?.find(({ type }) => type === "Failed");
  return failed?.status === "True" ? failed.reason : undefined;
}
