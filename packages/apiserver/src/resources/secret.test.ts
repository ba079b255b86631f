import { afterAll, beforeAll, expect, test } from "vitest";
import { TestApi } from "../testing/test-api.test.support.ts";

const secrets = "/api/v1/namespaces/default/secrets";
let api: TestApi;
beforeAll(async () => {
  api = await TestApi.start();
});
afterAll(() => api[Symbol.asyncDispose]());

const unknownTypes = ["constructor", "toString", "__proto__", "kubernetes.io/dockercfg2"];

test.for(unknownTypes)("a Secret can have the type %s", async (type) => {
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { generateName: "s-" }, type };
  expect(await api.send("POST", secrets, secret)).toMatchObject({ status: 201, body: { type } });
});
