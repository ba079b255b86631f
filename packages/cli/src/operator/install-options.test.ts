import { describe, expect, test } from "vitest";
import { version } from "../version.ts";
import { type InstallOptions, planFrom } from "./install-options.ts";
import { isNewer } from "./preflight.ts";

const options = (over: Partial<InstallOptions> = {}): InstallOptions => ({
  pullPolicy: "IfNotPresent",
  replicas: "2",
  clusterDomain: "cluster.local",
  router: true,
  runtime: true,
  wait: true,
  timeout: "5m",
  ...over,
});

describe("planFrom()", () => {
  test("names the images of this version in the registry", () => {
    const { settings } = planFrom(options({ registry: "registry.example.com:5000/team" }));
    expect(settings).toMatchObject({
      namespace: "agent-sandbox-system",
      image: `registry.example.com:5000/team/agent-sandbox:${version}`,
      runtimeImage: `registry.example.com:5000/team/agent-sandbox-runtime:${version}`,
      extensions: true,
    });
  });

  test("an image that is named wins over the registry", () => {
    const image = `other.example.com/mine@sha256:${"a".repeat(64)}`;
    expect(planFrom(options({ registry: "registry.example.com", image })).settings.image).toBe(image);
  });

  test.for([
    [{ replicas: "0" }, 'Cannot use --replicas "0"'],
    [{ replicas: "two" }, "want a number from 1 to 9"],
    [{ registry: "two words" }, 'Cannot use --registry "two words"'],
    [{ image: "UPPER" }, 'Cannot use --image "UPPER"'],
    [{ image: "a/b:c\nkind: Pod" }, "Cannot use --image"],
    [{ runtimeImage: "-flag" }, "Cannot use --runtime-image"],
    [{ image: `x${"/y".repeat(300)}` }, "Cannot use --image"],
    [{ image: `${"a-".repeat(150)}!` }, "Cannot use --image"],
    [{ pullPolicy: "Sometimes" }, "want Always, IfNotPresent, Never"],
    [{ namespace: "a/b" }, 'Cannot use --namespace "a/b"'],
    [{ clusterDomain: "a b" }, 'Cannot use --cluster-domain "a b"'],
  ] as const)("refuses %j", ([over, message]) => {
    expect(() => planFrom(options(over))).toThrow(message);
  });
});

test.for([
  ["0.2.0", "0.1.9", true],
  ["0.1.0", "0.1.0", false],
  ["0.9.0", "0.10.0", false],
  ["1.0.0", "0.99.99", true],
  ["rubbish", "0.1.0", false],
] as const)("isNewer(%s, %s) is %s", ([first, second, expected]) => {
  expect(isNewer(first, second)).toBe(expected);
});
