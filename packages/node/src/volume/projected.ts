import { list, object, satisfying } from "../pod/field-rules.ts";
import { downwardItems, downwardPayload } from "./downward-api.ts";
import { configMapContent, secretContent } from "./object-content.ts";
import { defaultMode, type Payload, payloadOf } from "./payload.ts";
import { fileMode, flag, items, objectName, payloadPath } from "./payload-rules.ts";
import { mountPayload } from "./payload-volume.ts";
import { tokenPayload } from "./token.ts";
import type { Volume, VolumeContext, VolumeKind } from "./volume-kind.ts";

type Source = NonNullable<NonNullable<Volume["projected"]>["sources"]>[number];

const text = satisfying((value) => typeof value === "string" && !value.includes("\0"), "a string");
const seconds = satisfying((value) => Number.isInteger(value) && Number(value) >= 600, "at least 600 seconds");

/** Several sources in one folder. If two have a file with the same path, the later one wins. */
export const projected: VolumeKind = {
  field: "projected",
  group: "read",
  rule: () =>
    object({
      defaultMode: fileMode,
      sources: list(
        object({
          configMap: object({ name: objectName, optional: flag, items }),
          secret: object({ name: objectName, optional: flag, items }),
          downwardAPI: object({ items: downwardItems }),
          serviceAccountToken: object({ audience: text, expirationSeconds: seconds, path: payloadPath }),
        }),
        100,
      ),
    }),
  mount: async ({ projected: wanted }, context) => {
    const mode = wanted?.defaultMode ?? defaultMode;
    const parts: { payload: Payload; refreshAt?: number }[] = [];
    for (const source of wanted?.sources ?? []) parts.push(await payloadFrom(source, mode, context));
    const refreshAt = Math.min(...parts.flatMap((part) => part.refreshAt ?? []));
    const payload = new Map(parts.flatMap((part) => [...part.payload]));
    const mounted = await mountPayload(payload, context, { inMemory: true });
    return Number.isFinite(refreshAt) ? { ...mounted, refreshAt } : mounted;
  },
};

async function payloadFrom(
  source: Source,
  mode: number,
  context: VolumeContext,
): Promise<{ payload: Payload; refreshAt?: number }> {
  const { configMap, secret, downwardAPI, serviceAccountToken } = source;
  const { sources, pod } = context;
  if (serviceAccountToken !== undefined) return tokenPayload(serviceAccountToken, mode, context);
  if (downwardAPI !== undefined) {
    const facts = { ...context, node: context.machine.capacity };
    return { payload: downwardPayload(pod, downwardAPI.items ?? [], mode, facts) };
  }
  const named = configMap ?? secret;
  const name = named?.name ?? "";
  const [from, content] =
    configMap === undefined
      ? [`secret "${name}"`, secretContent(sources.secret(name))]
      : [`configmap "${name}"`, configMapContent(sources.configMap(name))];
  const optional = named?.optional ?? false;
  return { payload: payloadOf({ from, content, items: named?.items, defaultMode: mode, optional }) };
}
