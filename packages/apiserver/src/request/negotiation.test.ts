import { describe, expect, test } from "vitest";
import { negotiate } from "./negotiation.ts";

const as = (kind: string, version = "v1"): string => `application/json;as=${kind};v=${version};g=meta.k8s.io`;

describe("negotiate()", () => {
  test.for<[string | undefined, object]>([
    [undefined, { as: "Object" }],
    ["", { as: "Object" }],
    ["*/*", { as: "Object" }],
    ["text/html, application/yaml", { as: "Object" }],
    ["application/vnd.kubernetes.protobuf", { as: "Object" }],
    [as("Table"), { as: "Table", apiVersion: "meta.k8s.io/v1" }],
    [as("PartialObjectMetadata", "v1beta1"), { as: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1beta1" }],
    [`${as("Table", "v2")},application/json`, { as: "Object" }],
    [`application/json;q=0.5, ${as("Table")}`, { as: "Table", apiVersion: "meta.k8s.io/v1" }],
    [
      "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
      { as: "PartialObjectMetadataList", apiVersion: "meta.k8s.io/v1" },
    ],
  ])("finds a representation for %s", ([accept, expected]) => {
    expect(negotiate(accept)).toEqual(expected);
  });

  test.for([
    "application/xml",
    "text/html;q=1",
    as("Unheard"),
    as("Table", "v3"),
    "application/json;v=v1",
    ",;,",
    "json",
  ])("refuses %s", (accept) => {
    expect(() => negotiate(accept)).toThrow("only the following media types are accepted");
  });
});
