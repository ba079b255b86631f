import { join } from "node:path";
import { type Pod, type PodSpec, restoreAnnotation, type Sandbox, sandboxes, saveAnnotation } from "@agent-sandbox/api";
import { layoutOf } from "../../src/layout.ts";
import { pods } from "../../src/resources.ts";
import { namesIn } from "../../src/system/folders.ts";
import { isGone, isReady, keepingMetadata, namespace } from "../../src/testing/test-api.ts";
import type { TestBox } from "../../src/testing/test-box.ts";

/** A Sandbox without its controller: the test writes the annotations that the controller would write. */
export interface SavedSandbox {
  readonly name: string;
  readonly uid: string;
  /** Starts the Pod, and waits until it is ready. */
  start(): Promise<Pod>;
  /** Asks for the Pod to be saved, and returns it with the answer. */
  save(epoch?: number): Promise<Pod>;
  /** Removes the Pod. */
  remove(): Promise<void>;
  /** Creates the Pod again, to be restored, and returns it with the answer. */
  restore(epoch?: number): Promise<Pod>;
}

export async function makeSandbox(box: TestBox, name: string, spec: Partial<PodSpec>): Promise<SavedSandbox> {
  const podTemplate = { spec: { containers: [{ name: "main", image: "host" }] } };
  const sandbox = await box.api.client.create(sandboxes, {
    metadata: { namespace, name },
    spec: { podTemplate },
  } as Sandbox);
  const create = (annotations: Record<string, string>): Promise<void> => {
    const metadata = keepingMetadata(sandbox);
    const all = { ...metadata.annotations, "agents.x-k8s.io/suspend-depth": "Memory", ...annotations };
    return box.create(name, { metadata: { ...metadata, annotations: all }, spec });
  };
  return {
    name,
    uid: sandbox.metadata.uid ?? "",
    start: async () => {
      await create({});
      return box.api.until(name, isReady);
    },
    save: async (epoch = 0) => {
      await requestSave(box, name, epoch);
      return box.api.until(name, (pod) => conditionOf(pod, "agents.x-k8s.io/Saved") !== undefined);
    },
    remove: async () => {
      await box.api.client.delete(pods, { namespace, name }, { gracePeriodSeconds: 1 });
      await box.api.until(name, isGone);
    },
    restore: async (epoch = 0) => {
      await create({ [restoreAnnotation]: `suspension/${epoch}`, "agents.x-k8s.io/epoch": String(epoch + 1) });
      const isAnswered = (pod: Pod | undefined): boolean => {
        const answer = conditionOf(pod, "PodRestored");
        return answer?.status === "False" || (answer?.status === "True" && isReady(pod));
      };
      return box.api.until(name, isAnswered);
    },
  };
}

export async function requestSave(box: TestBox, name: string, epoch: number | null): Promise<void> {
  const annotations = { [saveAnnotation]: epoch === null ? null : String(epoch) };
  await box.api.client.patch(pods, { namespace, name }, { type: "merge", body: { metadata: { annotations } } });
}

type Condition = NonNullable<NonNullable<Pod["status"]>["conditions"]>[number];

export function conditionOf(pod: Pod | undefined, type: string): Condition | undefined {
  return pod?.status?.conditions?.find((one) => one.type === type);
}

/** The answer of a condition in one word: its status, or the reason why it is False. */
export function answerOf(pod: Pod | undefined, type: string): string | undefined {
  const found = conditionOf(pod, type);
  return found?.status === "False" ? found.reason : found?.status;
}

/** The epochs of a Sandbox's images, and the names of partial ones. */
export async function imagesIn({ dataDir }: TestBox, sandboxUid: string): Promise<string[]> {
  return namesIn(join(layoutOf(dataDir).stateDir, "suspensions", sandboxUid));
}
