import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { configMap, configMaps, TestApi } from "../testing/test-api.test.support.ts";

const accept = (kind: string): Record<string, string> => ({
  accept: `application/json;as=${kind};v=v1;g=meta.k8s.io`,
});
const one = accept("PartialObjectMetadata");
const many = accept("PartialObjectMetadataList");

let api: TestApi;
beforeAll(async () => {
  api = await TestApi.start();
});
afterAll(() => api[Symbol.asyncDispose]());

describe("PartialObjectMetadata", () => {
  test("contains only metadata, for every verb", async () => {
    const shape = { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1" };
    const body = { ...configMap("a"), data: { secret: "x" } };
    const { body: created } = await api.send("POST", configMaps, body, one);
    const { metadata } = await api.get(`${configMaps}/a`);
    expect(created).toEqual({ ...shape, metadata });
    expect((await api.send("GET", `${configMaps}/a`, undefined, one)).body).toEqual({ ...shape, metadata });
    const { body: list } = await api.send("GET", `${configMaps}?fieldSelector=metadata.name=a`, undefined, many);
    expect(list).toEqual({
      kind: "PartialObjectMetadataList",
      apiVersion: "meta.k8s.io/v1",
      metadata: list.metadata,
      items: [{ ...shape, metadata }],
    });
  });

  test("is in the events of a watch", async () => {
    await api.create(configMaps, { ...configMap("watched"), data: { a: "1" } });
    const path = `${configMaps}?watch=true&fieldSelector=metadata.name=watched`;
    const { events } = await api.server.transport.stream({ method: "GET", path, headers: one });
    for await (const [event] of events ?? []) {
      expect(event).toMatchObject({ type: "ADDED", object: { kind: "PartialObjectMetadata" } });
      expect(event?.object).not.toHaveProperty("data");
      break;
    }
  });

  test.for([
    ["one object as a list", `${configMaps}/a`, many],
    ["a list as one object", configMaps, one],
    ["a watch as a list", `${configMaps}?watch=true`, many],
  ] as const)("is refused for %s", async ([, path, headers]) => {
    expect(await api.send("GET", path, undefined, headers)).toMatchObject({
      status: 406,
      body: { reason: "NotAcceptable" },
    });
  });

  test("writes nothing when the representation is not acceptable", async () => {
    const answer = await api.send("POST", configMaps, configMap("unwritten"), { accept: "application/xml" });
    expect(answer.status).toBe(406);
    expect((await api.send("GET", `${configMaps}/unwritten`)).status).toBe(404);
  });
});
