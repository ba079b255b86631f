import { expect, test } from "vitest";
import { claimForm, poolForm, sandboxForm, snapshotForm, templateForm } from "./forms.ts";
import type { Values } from "./manifests.ts";

const place = { name: "n", namespace: "team" };
const specOf = (object: object): object => (object as { readonly spec: object }).spec;

test("a form with nothing but the required fields creates the least object", () => {
  const image = { runtime: "Injected", podTemplate: { spec: { containers: [{ name: "main", image: "host" }] } } };
  expect(specOf(sandboxForm.build({ ...place, image: "host" }))).toEqual(image);
  expect(specOf(templateForm.build({ ...place, image: "host" }))).toEqual(image);
  expect(specOf(claimForm.build({ ...place, pool: "p" }))).toEqual({ warmPoolRef: { name: "p" } });
  expect(specOf(poolForm.build({ ...place, template: "t", replicas: "2" }))).toEqual({
    replicas: 2,
    sandboxTemplateRef: { name: "t" },
  });
  expect(specOf(snapshotForm.build({ ...place, sandbox: "s" }))).toEqual({ sandboxRef: { name: "s" } });
});

test("each form creates an object of its kind with the name and namespace", () => {
  for (const form of [sandboxForm, templateForm, claimForm, poolForm, snapshotForm]) {
    const { apiVersion, kind } = form.resource;
    expect(form.build(place)).toMatchObject({ apiVersion, kind, metadata: place });
  }
});

test("limits reserve nothing, and lines become arguments and variables", () => {
  const values: Values = {
    ...place,
    image: "host",
    memory: "64Mi",
    command: "sh\n-c\necho a b\n",
    env: "A=1\n=x\nB=x=y",
  };
  expect(specOf(sandboxForm.build(values))).toMatchObject({
    podTemplate: {
      spec: {
        containers: [
          {
            command: ["sh", "-c", "echo a b"],
            env: [
              { name: "A", value: "1" },
              { name: "B", value: "x=y" },
            ],
            resources: { limits: { memory: "64Mi" }, requests: { memory: "0" } },
          },
        ],
      },
    },
  });
});

test("a claim with a lifetime and variables", () => {
  const values: Values = { ...place, pool: "p", ttlSeconds: "60", shutdown: "Delete", env: "A=1" };
  expect(specOf(claimForm.build(values))).toEqual({
    warmPoolRef: { name: "p" },
    lifecycle: { ttlSecondsAfterFinished: 60, shutdownPolicy: "Delete" },
    env: [{ name: "A", value: "1" }],
  });
});
