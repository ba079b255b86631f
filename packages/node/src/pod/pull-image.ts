import type { Pod } from "@agent-sandbox/api";
import type { Effects } from "./effects.ts";
import { memberNamed } from "./members.ts";
import { pullTask } from "./plan-containers.ts";
import type { PodRecord } from "./record.ts";

/** Makes a container's image ready beside the passes: it may have a long way to come. */
export async function pullImage(effects: Effects, pod: Pod, { uid }: PodRecord, name: string): Promise<void> {
  const { machine, tasks, tell } = effects;
  const image = memberNamed(pod, name)?.container.image ?? "";
  await tasks.begin(uid, pullTask(name), async () => {
    const since = machine.now();
    await machine.images.resolve(image);
    const text = `Container image "${image}" ready on machine in ${machine.now() - since}ms`;
    tell(pod, { reason: "Pulled", text, container: name });
  });
}
