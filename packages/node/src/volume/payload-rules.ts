import { list, matching, object, oneOf, type Rule, satisfying } from "../pod/field-rules.ts";
import { isPayloadPath } from "./payload.ts";

export const fileMode: Rule = satisfying(
  (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 0o777,
  "a file mode between 0 and 0777",
);
export const payloadPath: Rule = satisfying(isPayloadPath, 'a relative path without ".."');
export const objectName: Rule = matching(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/, "an object's name");
export const objectKey: Rule = matching(/^[-._a-zA-Z0-9]{1,253}$/, "a key of an object");
export const flag: Rule = oneOf(true, false);
export const items: Rule = list(object({ key: objectKey, path: payloadPath, mode: fileMode }), 1000);
