import type { Pod } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { referencesOf } from "./references.ts";

test("lists every ConfigMap and Secret once, and marks those in volumes", () => {
  const pod: Pod = {
    spec: {
      initContainers: [{ name: "i", envFrom: [{ secretRef: { name: "init" } }] }],
      containers: [
        {
          name: "main",
          envFrom: [{ configMapRef: { name: "shared" } }],
          env: [
            { name: "A", valueFrom: { configMapKeyRef: { name: "key", key: "k" } } },
            { name: "B", valueFrom: { secretKeyRef: { name: "shared", key: "k" } } },
            { name: "C", value: "plain" },
          ],
        },
      ],
      volumes: [
        { name: "c", configMap: { name: "shared" } },
        { name: "s", secret: { secretName: "secret" } },
        {
          name: "p",
          projected: { sources: [{ secret: { name: "projected" } }, { configMap: { name: "projected" } }] },
        },
        { name: "e", emptyDir: {} },
      ],
    },
  };
  const found = referencesOf(pod).map(({ kind, name, inVolume }) => `${kind}/${name}${inVolume ? " shown" : ""}`);
  expect(found.toSorted()).toEqual([
    "ConfigMap/key",
    "ConfigMap/projected shown",
    "ConfigMap/shared shown",
    "Secret/init",
    "Secret/projected shown",
    "Secret/secret shown",
    "Secret/shared",
  ]);
});
