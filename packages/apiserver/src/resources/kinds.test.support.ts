/** Paths and objects that the tests of kinds share. */
export const core = (plural: string): string => `/api/v1/namespaces/default/${plural}`;
export const group = (name: string, plural: string): string => `/apis/${name}/v1/namespaces/default/${plural}`;
export const rbac = (plural: string): string => group("rbac.authorization.k8s.io", plural);
export const container: { name: string; image: string } = { name: "a", image: "busybox:1" };
export const pod = (spec: object): object => ({ spec: { containers: [container], ...spec } });
export const main = (more: object): object => ({ spec: { containers: [{ ...container, ...more }] } });
export const claim: object = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1024Mi" } } };
