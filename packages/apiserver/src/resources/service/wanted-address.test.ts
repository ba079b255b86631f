import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Answer, TestApi } from "../../testing/test-api.test.support.ts";

const services = "/api/v1/namespaces/default/services";
const ports = [{ port: 80 }];
let api: TestApi;
beforeAll(async () => {
  api = await TestApi.start();
});
afterAll(() => api[Symbol.asyncDispose]());

const post = (name: string, spec: object, query = ""): Promise<Answer> =>
  api.send("POST", `${services}${query}`, { metadata: { name }, spec });

const outOfRange = "the provided network does not match the current range";

describe("a requested address", () => {
  test.for([
    ["a Pod's", "10.200.0.5", outOfRange],
    ["loopback", "127.0.0.1", outOfRange],
    ["a public one", "198.51.100.7", outOfRange],
    ["the cloud's metadata service", "169.254.169.254", outOfRange],
    ["unspecified", "0.0.0.0", outOfRange],
    ["broadcast", "255.255.255.255", outOfRange],
    ["multicast", "224.0.0.1", outOfRange],
    ["just below the range", "10.95.255.255", outOfRange],
    ["just above the range", "10.97.0.0", outOfRange],
    ["the first of the range", "10.96.0.0", outOfRange],
    ["the last of the range", "10.96.255.255", outOfRange],
    ["an invalid address that starts like the range", "10.96.300.1", "must be a valid IP address"],
    ["leading zeros", "10.96.000.7", "must be a valid IP address"],
    ["a number", "174063623", "must be a valid IP address"],
    ["IPv6", "fd00::1", "not configured on this cluster"],
    ["IPv4 written as IPv6", "::ffff:10.96.0.7", "not configured on this cluster"],
  ] as const)("is refused: %s", async ([, clusterIP, why]) => {
    for (const spec of [{ clusterIP }, { clusterIPs: [clusterIP] }, { clusterIP, clusterIPs: [clusterIP] }]) {
      const answer = await post("foreign", { ...spec, ports });
      expect(answer).toMatchObject({ status: 422 });
      expect(answer.body.message).toContain(why);
    }
    expect((await api.send("GET", `${services}/foreign`)).status).toBe(404);
  });

  test("appears in the error like in that of kube-apiserver", async () => {
    const { body } = await post("foreign", { clusterIP: "192.0.2.1", ports });
    expect(body.message).toBe(
      `Service "foreign" is invalid: spec.clusterIPs: Invalid value: ["192.0.2.1"]: failed to allocate IP 192.0.2.1: ${outOfRange}`,
    );
  });

  test("is refused in addition to a valid one", async () => {
    const both = await post("two", { clusterIP: "10.96.7.1", clusterIPs: ["10.96.7.1", "192.0.2.1"], ports });
    expect(both).toMatchObject({ status: 422 });
    const other = await post("two", { clusterIP: "10.96.7.1", clusterIPs: ["192.0.2.1"], ports });
    expect(other.body.message).toContain("first value must match `clusterIP`");
  });

  test("is allocated to one of several concurrent requests", async () => {
    const asked = ["a", "b", "c"].map((name) => post(name, { clusterIP: "10.96.7.7", ports }));
    const answers = await Promise.all(asked);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 422, 422]);
    expect(answers.find(({ status }) => status === 422)?.body.message).toContain(
      "failed to allocate IP 10.96.7.7: provided IP is already allocated",
    );
  });

  test("is free after a dry run, after a refused creation and after its Service is deleted", async () => {
    const spec = { clusterIP: "10.96.7.8", ports };
    expect((await post("d", spec, "?dryRun=All")).status).toBe(201);
    expect((await post("d", { ...spec, ports: [] })).status).toBe(422);
    expect((await post("d", spec)).status).toBe(201);
    await api.send("DELETE", `${services}/d`);
    expect((await post("e", spec)).status).toBe(201);
  });

  test("is checked when a Service without an address becomes one with an address", async () => {
    await post("alias", { type: "ExternalName", externalName: "example.com" });
    const foreign = await api.merge(`${services}/alias`, {
      spec: { type: "ClusterIP", clusterIP: "192.0.2.1", ports },
    });
    expect(foreign).toMatchObject({ status: 422 });
    const hidden = await post("hidden", { type: "ExternalName", externalName: "example.com", clusterIP: "192.0.2.1" });
    expect(hidden.body.message).toContain("spec.clusterIPs: Forbidden: may not be set for ExternalName services");
  });

  test("cannot change", async () => {
    await post("stays", { clusterIP: "10.96.7.9", ports });
    for (const to of ["192.0.2.1", "127.0.0.1", "10.96.7.10", "None"]) {
      for (const spec of [{ clusterIP: to }, { clusterIP: to, clusterIPs: [to] }]) {
        expect(await api.merge(`${services}/stays`, { spec })).toMatchObject({ status: 422 });
      }
      await api.merge(`${services}/stays`, { spec: { clusterIPs: [to] } });
    }
    expect((await api.get(`${services}/stays`)).spec).toMatchObject({
      clusterIP: "10.96.7.9",
      clusterIPs: ["10.96.7.9"],
    });
  });
});
