import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { newSandbox, parseVariable, parseVolume } from "./new-sandbox.ts";

test("a sandbox of an image waits for commands", () => {
  expect(newSandbox("work", { image: "debian:12" })).toEqual({
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name: "work" },
    spec: { runtime: "Injected", podTemplate: { spec: { containers: [{ name: "main", image: "debian:12" }] } } },
  });
});

test("limits, variables, volumes and labels become fields of the Pod", () => {
  const options = {
    image: "host",
    runtime: "runc",
    env: ["A=b=c"],
    volume: ["/etc:/e:ro"],
    cpus: "1.5",
    memory: "64Mi",
  };
  expect(newSandbox("work", { ...options, workdir: "/e", label: ["team=a"] })).toMatchObject({
    metadata: { labels: { team: "a" } },
    spec: {
      podTemplate: {
        spec: {
          runtimeClassName: "runc",
          volumes: [{ name: "host-0", hostPath: { path: "/etc" } }],
          containers: [
            {
              env: [{ name: "A", value: "b=c" }],
              workingDir: "/e",
              resources: { limits: { cpu: "1.5", memory: "64Mi" }, requests: { cpu: "0", memory: "0" } },
              volumeMounts: [{ name: "host-0", mountPath: "/e", readOnly: true }],
            },
          ],
        },
      },
    },
  });
});

test("relative folders are those of the present folder", () => {
  expect(parseVolume(".:/work")).toEqual({ host: resolve("."), path: "/work", readOnly: false });
  expect(parseVolume("/etc")).toEqual({ host: "/etc", path: "/etc", readOnly: false });
});

describe("bad input", () => {
  test.each([":/x", "/etc:/x:rx", "/etc:/x:ro:more", "/etc:relative", "/does/not/exist:/x"])("volume %s", (text) => {
    expect(() => parseVolume(text)).toThrow(/^Cannot/);
  });
  test.each(["=value", "NOT_SET_ANYWHERE"])("variable %s", (text) => {
    expect(() => parseVariable(text)).toThrow(/^Cannot/);
  });
});
