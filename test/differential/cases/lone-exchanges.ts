import type { Case, ExchangeStep } from "../case.ts";

const classes = "/apis/storage.k8s.io/v1/storageclasses";
const claims = "/api/v1/namespaces/{{ns}}/persistentvolumeclaims";

const storageClass = (name: string, mark: string): ExchangeStep => ({
  method: "POST",
  path: classes,
  body: {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name, annotations: { "storageclass.kubernetes.io/is-default-class": mark } },
    provisioner: "example.com/disks",
  },
});
const claim = (name: string, spec: object = {}, annotations: object = {}): ExchangeStep => ({
  method: "POST",
  path: claims,
  body: {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name, annotations },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...spec },
  },
});

/** Cases that affect others. They run one after the other at the end. */
export const loneExchanges: readonly Case[] = [
  {
    name: "a default storage class",
    steps: [
      storageClass("{{ns}}-b", "true"),
      storageClass("{{ns}}-a", "false"),
      claim("open"),
      claim("named", { storageClassName: "{{ns}}-a" }),
      claim("none", { storageClassName: "" }),
      claim("annotated", {}, { "volume.beta.kubernetes.io/storage-class": "{{ns}}-a" }),
      { method: "DELETE", path: `${classes}/{{ns}}-b` },
      // kube-apiserver takes the default class from a cache. The time that kubectl needs is enough for it to be updated.
      { kubectl: ["get", "storageclass", "{{ns}}-a", "-o", "name"] },
      claim("late"),
    ],
  },
];
