import { object } from "../pod/field-rules.ts";
import { configMapContent } from "./object-content.ts";
import { defaultMode, payloadOf } from "./payload.ts";
import { fileMode, flag, items, objectName } from "./payload-rules.ts";
import { mountPayload } from "./payload-volume.ts";
import type { VolumeKind } from "./volume-kind.ts";

export const configMap: VolumeKind = {
  field: "configMap",
  group: "read",
  rule: () => object({ name: objectName, optional: flag, defaultMode: fileMode, items }),
  mount: ({ configMap: wanted }, context) => {
    const name = wanted?.name ?? "";
    const payload = payloadOf({
      from: `configmap "${name}"`,
      content: configMapContent(context.sources.configMap(name)),
      items: wanted?.items,
      defaultMode: wanted?.defaultMode ?? defaultMode,
      optional: wanted?.optional ?? false,
    });
    return mountPayload(payload, context);
  },
};
