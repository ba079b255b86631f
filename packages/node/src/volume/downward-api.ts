import type { Pod } from "@agent-sandbox/api";
import { type DownwardFacts, downwardField, resourceField } from "../oci/downward.ts";
import { anything, list, object, type Rule, satisfying } from "../pod/field-rules.ts";
import { memberNamed } from "../pod/members.ts";
import { defaultMode, type Payload, type PayloadFile } from "./payload.ts";
import { fileMode, payloadPath } from "./payload-rules.ts";
import { mountPayload } from "./payload-volume.ts";
import type { Volume, VolumeKind } from "./volume-kind.ts";

type Items = NonNullable<NonNullable<Volume["downwardAPI"]>["items"]>;

const shown = satisfying((path) => downwardField(String(path)) !== undefined, "a field of the downward API");

export const downwardItems: Rule = list(
  object({
    path: payloadPath,
    mode: fileMode,
    fieldRef: object({ apiVersion: anything, fieldPath: shown }),
    resourceFieldRef: object({ containerName: anything, resource: anything, divisor: anything }),
  }),
  1000,
);

export const downwardApi: VolumeKind = {
  field: "downwardAPI",
  group: "read",
  rule: () => object({ defaultMode: fileMode, items: downwardItems }),
  mount: ({ downwardAPI: wanted }, context) => {
    const facts = { ...context, node: context.machine.capacity };
    return mountPayload(
      downwardPayload(context.pod, wanted?.items ?? [], wanted?.defaultMode ?? defaultMode, facts),
      context,
    );
  },
};

export function downwardPayload(pod: Pod, items: Items, mode: number, facts: DownwardFacts): Payload {
  return new Map(
    items.map((item): [string, PayloadFile] => {
      const { fieldRef, resourceFieldRef } = item;
      const container = memberNamed(pod, resourceFieldRef?.containerName ?? "")?.container;
      const text =
        fieldRef === undefined
          ? resourceField(resourceFieldRef, container, facts)
          : (downwardField(fieldRef.fieldPath)?.(pod, facts) ?? "");
      return [item.path, { content: Buffer.from(text), mode: item.mode ?? mode }];
    }),
  );
}
