import type { Container, Pod } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { environmentFor, expand, hostnameOf } from "./environment.ts";

describe("expand()", () => {
  const environment = new Map([
    ["A", "1"],
    ["EMPTY", ""],
    ["NESTED", "$(A)"],
  ]);
  test.for([
    ["a known name", "x$(A)y", "x1y"],
    ["an empty value", "[$(EMPTY)]", "[]"],
    ["an unknown name stays as written", "$(NOPE)", "$(NOPE)"],
    ["an escaped reference", "$$(A)", "$(A)"],
    ["an escaped dollar before a reference", "$$$(A)", "$1"],
    ["two dollars", "a$$b", "a$b"],
    ["shell syntax", "$A ${A} $", "$A ${A} $"],
    ["an unclosed reference", "$(A", "$(A"],
    ["a value is not expanded again", "$(NESTED)", "$(A)"],
  ] as const)("%s", ([, text, expected]) => {
    expect(expand(text, environment)).toBe(expected);
  });
});

test("expand() takes linear time for unclosed references", () => {
  const text = "$(".repeat(500_000);
  expect(expand(text, new Map())).toBe(text);
  expect(expand(`${text})$(A)`, new Map([["A", "1"]]))).toBe(`${text})1`);
});

describe("environmentFor()", () => {
  const pod: Pod = {
    metadata: { name: "p", namespace: "n", uid: "u", labels: { app: "web" } },
    spec: { nodeName: "box", containers: [] },
  };

  const objects = {
    configMap: (name: string) =>
      name === "cm" ? { data: { A: "a", "bad=key": "x", both: "map" }, binaryData: { B: btoa("b") } } : undefined,
    secret: (name: string) => (name === "s" ? { data: { S: btoa("secret"), both: btoa("secret") } } : undefined),
  };
  const facts = {
    address: "10.1.2.3",
    hostAddress: "192.0.2.1",
    node: { cpus: 2, memoryBytes: 8 * 2 ** 30, diskBytes: 100 },
  };
  const of = (container: Container): Record<string, string> =>
    Object.fromEntries(environmentFor({ pod, container, image: new Map([["PATH", "/bin"]]), facts, sources: objects }));
  const from = (env: NonNullable<Container["env"]>): Record<string, string> => {
    const {
      PATH: _path,
      HOSTNAME: _hostname,
      ...rest
    } = of({
      name: "main",
      env,
      resources: { limits: { cpu: "1500m" }, requests: { memory: "100Mi" } },
    });
    return rest;
  };

  test("envFrom comes before env, later values win, and invalid names are skipped", () => {
    const envFrom = [
      { configMapRef: { name: "cm" } },
      { prefix: "P_", secretRef: { name: "s" } },
      { secretRef: { name: "s" } },
      { configMapRef: { name: "none", optional: true } },
    ];
    expect(of({ name: "main", envFrom, env: [{ name: "A", value: "own $(B)" }] })).toEqual({
      PATH: "/bin",
      HOSTNAME: "p",
      A: "own b",
      B: "b",
      S: "secret",
      both: "secret",
      P_S: "secret",
      P_both: "secret",
    });
  });

  test("keys of objects, fields of the Pod and its resources", () => {
    const ref = (name: string, key: string, optional?: boolean) => ({ name, key, ...(optional && { optional }) });
    expect(
      from([
        { name: "KEY", valueFrom: { configMapKeyRef: ref("cm", "A") } },
        { name: "SECRET", valueFrom: { secretKeyRef: ref("s", "S") } },
        { name: "MISSING", valueFrom: { secretKeyRef: ref("s", "none", true) } },
        { name: "LABEL", valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
        { name: "HOST", valueFrom: { fieldRef: { fieldPath: "status.hostIP" } } },
        { name: "CPU", valueFrom: { resourceFieldRef: { resource: "limits.cpu" } } },
        { name: "MILLI", valueFrom: { resourceFieldRef: { resource: "limits.cpu", divisor: "1m" } } },
        { name: "MEMORY", valueFrom: { resourceFieldRef: { resource: "requests.memory", divisor: "1Mi" } } },
        { name: "NO_LIMIT", valueFrom: { resourceFieldRef: { resource: "limits.memory", divisor: "1Gi" } } },
      ]),
    ).toEqual({
      KEY: "a",
      SECRET: "secret",
      LABEL: "web",
      HOST: "192.0.2.1",
      CPU: "2",
      MILLI: "1500",
      MEMORY: "100",
      NO_LIMIT: "8",
    });
  });

  test.for([
    ["an object", { configMapKeyRef: { name: "none", key: "k" } }, 'configmap "none" not found'],
    ["a key", { secretKeyRef: { name: "s", key: "k" } }, "couldn't find key k in Secret n/s"],
    ["a resource", { resourceFieldRef: { resource: "limits.gpu" } }, "unsupported container resource: limits.gpu"],
  ] as const)("a missing value is an error: %s", ([, valueFrom, message]) => {
    expect(() => from([{ name: "X", valueFrom }])).toThrow(message);
  });

  test("the image's variables come first, and variables can refer to earlier ones", () => {
    const container: Container = {
      name: "main",
      env: [
        { name: "FIRST", value: "$(PATH):$(SECOND)" },
        { name: "SECOND", value: "two" },
        { name: "THIRD", value: "$(SECOND)/$(IP)" },
        { name: "IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
        { name: "WHO", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
        { name: "AT", value: "$(IP)" },
        { name: "NONE" },
      ],
    };
    expect(of(container)).toEqual({
      PATH: "/bin",
      HOSTNAME: "p",
      FIRST: "/bin:$(SECOND)",
      SECOND: "two",
      THIRD: "two/$(IP)",
      IP: "10.1.2.3",
      WHO: "p",
      AT: "10.1.2.3",
      NONE: "",
    });
  });
});

describe("hostnameOf()", () => {
  test.for([
    ["the Pod's name", { name: "web-1" }, undefined, "web-1"],
    ["spec.hostname overrides the name", { name: "web-1" }, "db", "db"],
    [
      "truncated to 63 characters without a trailing hyphen or dot",
      { name: `${"a".repeat(62)}.b` },
      undefined,
      "a".repeat(62),
    ],
  ] as const)("%s", ([, metadata, hostname, expected]) => {
    const spec = { containers: [], ...(hostname !== undefined && { hostname }) };
    expect(hostnameOf({ metadata, spec })).toBe(expected);
  });
});

test("variables for the API server can be overridden by the container", () => {
  const container: Container = { name: "c", image: "i", env: [{ name: "KUBERNETES_SERVICE_PORT", value: "1" }] };
  const sources = { configMap: () => undefined, secret: () => undefined };
  const input = { pod: { metadata: { name: "p" } }, container, image: new Map(), facts: {} as never, sources };
  const environment = environmentFor({ ...input, hasApiAccess: true });
  expect([environment.get("KUBERNETES_SERVICE_HOST"), environment.get("KUBERNETES_SERVICE_PORT")]).toEqual([
    "10.96.0.1",
    "1",
  ]);
  expect(environmentFor(input).has("KUBERNETES_SERVICE_HOST")).toBe(false);
});
