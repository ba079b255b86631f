import { object } from "../pod/field-rules.ts";
import { secretContent } from "./object-content.ts";
import { defaultMode, payloadOf } from "./payload.ts";
import { fileMode, flag, items, objectName } from "./payload-rules.ts";
import { mountPayload } from "./payload-volume.ts";
import type { VolumeKind } from "./volume-kind.ts";

/** In memory, so that secrets are never written to the disk. */
export const secret: VolumeKind = {
  field: "secret",
  group: "read",
  rule: () => object({ secretName: objectName, optional: flag, defaultMode: fileMode, items }),
  mount: ({ secret: wanted }, context) => {
    const name = wanted?.secretName ?? "";
    const payload = payloadOf({
      from: `secret "${name}"`,
      content: secretContent(context.sources.secret(name)),
      items: wanted?.items,
      defaultMode: wanted?.defaultMode ?? defaultMode,
      optional: wanted?.optional ?? false,
    });
    return mountPayload(payload, context, { inMemory: true });
  },
};
