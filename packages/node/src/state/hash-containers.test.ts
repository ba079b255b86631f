import type { Pod } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { hashContainers } from "./hash-containers.ts";

const container = { name: "main", image: "a", command: ["run"], env: [{ name: "A", value: "1" }] };
const podOf = (change: object, spec: object = {}): Pod => ({
  spec: { containers: [{ ...container, ...change }], ...spec },
});
const same = hashContainers(podOf({}));

test.for([
  ["resources may change", podOf({ resources: { limits: { cpu: "1" } } }), true],
  ["probes may change", podOf({ livenessProbe: { tcpSocket: { port: 1 } } }), true],
  ["the order of fields does not matter", podOf({ env: [{ value: "1", name: "A" }] }), true],
  [
    "the identity that sandboxd has in a fork",
    podOf({
      env: [
        ...container.env,
        { name: "SANDBOXD_SANDBOX_NAME", value: "fork" },
        { name: "SANDBOXD_SANDBOX_UID", value: "2" },
      ],
    }),
    true,
  ],
  ["another image", podOf({ image: "b" }), false],
  ["another command", podOf({ command: ["other"] }), false],
  ["another environment", podOf({ env: [{ name: "A", value: "2" }] }), false],
  ["another mount", podOf({ volumeMounts: [{ name: "v", mountPath: "/v" }] }), false],
  ["another container", podOf({}, { initContainers: [{ name: "i" }] }), false],
  ["another runtime", podOf({}, { runtimeClassName: "other" }), false],
] as const)("%s", ([, pod, isSame]) => {
  expect(hashContainers(pod) === same).toBe(isSame);
});
