import { expect, test } from "vitest";
import { acceptedFormat } from "./accepted-format.ts";

test.for([
  [undefined, "json"],
  ["*/*", "json"],
  ["application/yaml", "yaml"],
  ["Application/YAML; charset=utf-8", "yaml"],
  ["application/yaml, application/json", "yaml"],
  ["application/json, application/yaml", "json"],
  ["application/vnd.kubernetes.protobuf, application/yaml;q=0.9", "yaml"],
  ["application/vnd.kubernetes.protobuf, */*, application/yaml", "json"],
  ["application/x-yaml", "json"],
] as const)("%s is answered in %s", ([accept, format]) => {
  expect(acceptedFormat(accept)).toBe(format);
});
