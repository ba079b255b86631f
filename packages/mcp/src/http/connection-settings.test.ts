import { describe, expect, test } from "vitest";
import { readSettings } from "./connection-settings.ts";

const defaults = { namespace: "team-a", source: { image: "host" } };
const read = (query: string) => readSettings(new URLSearchParams(query), defaults);

describe("readSettings()", () => {
  test.for([
    ["", { namespace: "team-a", source: { image: "host" }, autoSandbox: false }],
    ["namespace=b&template=t", { namespace: "b", source: { template: "t" }, autoSandbox: false }],
    [
      "image=docker.io/a/b:1&workspace=my%20work",
      { ...defaults, source: { image: "docker.io/a/b:1" }, workspace: "my work", autoSandbox: false },
    ],
    ["auto_sandbox=true", { ...defaults, autoSandbox: true }],
    ["auto_sandbox=false", { ...defaults, autoSandbox: false }],
  ] as const)("reads %j", ([query, settings]) => {
    expect(read(query)).toEqual(settings);
  });

  test.for([
    ["token=abc", "unknown parameter"],
    ["Namespace=b", "unknown parameter"],
    ["__proto__=b", "unknown parameter"],
    ["toString=b", "unknown parameter"],
    ["namespace=", "namespace of the address is not valid"],
    ["namespace=../b", "not valid"],
    ["namespace=b&namespace=c", "twice"],
    ["template=t&image=i", "one of them"],
    ["image=a%20b", "not valid"],
    ["workspace=a%0ab", "not valid"],
    [`workspace=${"x".repeat(129)}`, "not valid"],
    ["auto_sandbox=1", "not valid"],
  ] as const)("refuses %j", ([query, message]) => {
    expect(() => read(query)).toThrow(message);
  });
});
