import type { Pod } from "@agent-sandbox/api";
import type { Client } from "@agent-sandbox/kube";
import { isReason } from "@agent-sandbox/kube";
import { loginsFrom, type RegistryLogins } from "../image/credentials.ts";
import type { PullPolicy } from "../image/image-store.ts";
import { secrets } from "../resources.ts";
import type { Effects } from "./effects.ts";
import { memberNamed } from "./members.ts";
import { pullTask } from "./plan-containers.ts";
import type { PodRecord } from "./record.ts";

/** Makes a container's image ready beside the passes: it may have a long way to come. */
export async function pullImage(effects: Effects, pod: Pod, { uid }: PodRecord, name: string): Promise<void> {
  const { machine, tasks, tell, client } = effects;
  const { image = "", imagePullPolicy } = memberNamed(pod, name)?.container ?? {};
  await tasks.begin(uid, pullTask(name), async (signal) => {
    const since = machine.now();
    const policy = imagePullPolicy as PullPolicy | undefined;
    await machine.images.resolve(image, { policy, logins: await loginsFor(client, pod), signal });
    const text = `Container image "${image}" ready on machine in ${machine.now() - since}ms`;
    tell(pod, { reason: "Pulled", text, container: name });
  });
}

/** A Secret that is missing is no reason not to try: as with the kubelet, the registry decides. */
async function loginsFor(client: Client, { metadata, spec }: Pod): Promise<RegistryLogins> {
  const namespace = metadata?.namespace ?? "";
  const names = (spec?.imagePullSecrets ?? []).flatMap(({ name }) => name ?? []);
  const found = await Promise.all(
    names.map((name) =>
      client.get(secrets, { namespace, name }).catch((error: unknown) => {
        if (isReason(error, "NotFound")) return undefined;
        throw error;
      }),
    ),
  );
  return loginsFrom(found.filter((secret) => secret !== undefined));
}
