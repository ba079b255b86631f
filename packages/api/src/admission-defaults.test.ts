import { describe, expect, test } from "vitest";
import { alpha, beta, disk, type Fields, pod, specOf } from "./admission.test.support.ts";
import { admit } from "./admission.ts";

describe("what is stored", () => {
  const sandboxDefaults = { shutdownPolicy: "Retain", operatingMode: "Running" };
  const templateDefaults = { networkPolicyManagement: "Managed", envVarsInjectionPolicy: "Disallowed" };
  const cases: readonly (readonly [string, { spec: Fields }, Fields])[] = [
    ["Sandbox", beta.sandbox(), { podTemplate: pod, ...sandboxDefaults }],
    ["Sandbox v1alpha1", alpha.sandbox(), { podTemplate: pod, shutdownPolicy: "Retain", replicas: 1 }],
    [
      "SandboxTemplate",
      beta.template(),
      { podTemplate: pod, ...templateDefaults, volumeClaimTemplatesPolicy: "Disallowed" },
    ],
    ["SandboxTemplate v1alpha1", alpha.template(), { podTemplate: pod, ...templateDefaults }],
    ["SandboxClaim", beta.claim(), { warmPoolRef: { name: "p" } }],
    [
      "SandboxClaim with a lifecycle",
      beta.claim({ lifecycle: {} }),
      { warmPoolRef: { name: "p" }, lifecycle: { shutdownPolicy: "Retain" } },
    ],
    ["SandboxClaim v1alpha1", alpha.claim(), { sandboxTemplateRef: { name: "t" }, warmpool: "default" }],
    ["SandboxWarmPool", beta.pool(), { sandboxTemplateRef: { name: "t" }, replicas: 1 }],
    [
      "SandboxWarmPool with a strategy",
      beta.pool({ updateStrategy: {} }),
      { sandboxTemplateRef: { name: "t" }, replicas: 1, updateStrategy: { type: "OnReplenish" } },
    ],
    [
      "no added field that was not asked for",
      beta.sandbox({ idlePolicy: {} }),
      { podTemplate: pod, idlePolicy: {}, ...sandboxDefaults },
    ],
    [
      "no default of a suspend policy",
      beta.sandbox({ suspendPolicy: {}, idlePolicy: { suspendAfterSeconds: 60 } }),
      { podTemplate: pod, suspendPolicy: {}, idlePolicy: { suspendAfterSeconds: 60 }, ...sandboxDefaults },
    ],
    [
      "a retention policy that was",
      beta.sandbox({ persistentVolumeClaimRetentionPolicy: {} }),
      { podTemplate: pod, persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete" }, ...sandboxDefaults },
    ],
    [
      "only labels and annotations of a pod template",
      beta.sandbox({ podTemplate: { ...pod, metadata: { name: "x", labels: { a: "b" }, annotations: {} } } }),
      { podTemplate: { ...pod, metadata: { labels: { a: "b" }, annotations: {} } }, ...sandboxDefaults },
    ],
    [
      "only name, labels and annotations of a volume claim template",
      beta.sandbox({ volumeClaimTemplates: [{ ...disk, metadata: { name: "data", namespace: "x" } }] }),
      { podTemplate: pod, volumeClaimTemplates: [disk], ...sandboxDefaults },
    ],
    [
      "nothing of a newer version",
      alpha.sandbox({ operatingMode: "Suspended", idlePolicy: {} }),
      { podTemplate: pod, shutdownPolicy: "Retain", replicas: 1 },
    ],
    ["no replicas in v1beta1", beta.sandbox({ replicas: 0 }), { podTemplate: pod, ...sandboxDefaults }],
  ];
  test.for(cases)("%s", ([, given, stored]) => expect(specOf(given)).toEqual(stored));

  test("the defaults of the Pod spec, and no others", () => {
    const volumes = [
      { name: "a", azureDisk: { diskName: "d", diskURI: "u" } },
      { name: "i", iscsi: { targetPortal: "t", iqn: "q", lun: 0 } },
      { name: "r", rbd: { monitors: ["m"], image: "i" } },
      { name: "s", scaleIO: { gateway: "g", system: "s", secretRef: {} } },
      { name: "c", configMap: {} },
    ];
    const containers = [
      {
        name: "main",
        ports: [{ containerPort: 80 }],
        livenessProbe: { grpc: { port: 1 } },
        env: [{ name: "E", valueFrom: { fileKeyRef: { volumeName: "v", path: "p", key: "k" } } }],
        envFrom: [{ secretRef: {} }],
      },
    ];
    const podTemplate = { spec: { containers, volumes, imagePullSecrets: [{}] } };
    expect(specOf(beta.sandbox({ podTemplate })).podTemplate).toEqual({
      spec: {
        imagePullSecrets: [{ name: "" }],
        containers: [
          {
            name: "main",
            ports: [{ containerPort: 80, protocol: "TCP" }],
            livenessProbe: { grpc: { port: 1, service: "" } },
            env: [{ name: "E", valueFrom: { fileKeyRef: { volumeName: "v", path: "p", key: "k", optional: false } } }],
            envFrom: [{ secretRef: { name: "" } }],
          },
        ],
        volumes: [
          { name: "a", azureDisk: { diskName: "d", diskURI: "u", fsType: "ext4", readOnly: false } },
          { name: "i", iscsi: { targetPortal: "t", iqn: "q", lun: 0, iscsiInterface: "default" } },
          { name: "r", rbd: { monitors: ["m"], image: "i", pool: "rbd", user: "admin", keyring: "/etc/ceph/keyring" } },
          {
            name: "s",
            scaleIO: {
              gateway: "g",
              system: "s",
              secretRef: { name: "" },
              fsType: "xfs",
              storageMode: "ThinProvisioned",
            },
          },
          { name: "c", configMap: { name: "" } },
        ],
      },
    });
  });

  test("the input is not changed", () => {
    const given = beta.sandbox({ unknown: 1 });
    const before = structuredClone(given);
    admit(given);
    expect(given).toEqual(before);
  });
});
