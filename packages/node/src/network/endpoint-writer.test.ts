import { silentLogger } from "@agent-sandbox/kube";
import { expect, test } from "vitest";
import { endpointSlices, endpoints, pods, services } from "../resources.ts";
import { namespace, nodeName, openTestApi, type TestApi } from "../testing/test-api.ts";
import { EndpointWriter } from "./endpoint-writer.ts";

const web = { namespace, name: "web" };

async function makeWeb({ client }: TestApi): Promise<void> {
  await client.create(services, { metadata: web, spec: { selector: { app: "web" }, ports: [{ port: 80 }] } });
}

async function makePod({ client }: TestApi, name: string, podIP: string): Promise<void> {
  const containers = [{ name: "main", image: "host" }];
  await client.create(pods, { metadata: { namespace, name, labels: { app: "web" } }, spec: { nodeName, containers } });
  const conditions = [{ type: "Ready", status: "True" }];
  const body = { status: { phase: "Running", podIP, conditions } };
  await client.patch(pods, { namespace, name }, { type: "merge", body }, { subresource: "status" });
}

const inSlices = ({ server }: TestApi): string[] =>
  server.readAll(endpointSlices).flatMap((slice) => slice.endpoints.flatMap(({ addresses }) => addresses));
const inEndpoints = ({ server }: TestApi): string[] =>
  server
    .readAll(endpoints)
    .flatMap(({ subsets }) => subsets.flatMap(({ addresses = [] }) => addresses.map(({ ip }) => ip)));

test("keeps the endpoints of a Service up to date as Pods are created and deleted", async () => {
  const api = openTestApi();
  await makeWeb(api);
  await makePod(api, "a", "10.0.0.2");
  await using writer = new EndpointWriter({ client: api.client, nodeName, log: silentLogger });
  await writer.ready;
  await expect.poll(() => inEndpoints(api)).toEqual(["10.0.0.2"]);
  expect(inSlices(api)).toEqual(["10.0.0.2"]);

  await makePod(api, "b", "10.0.0.3");
  await expect.poll(() => inEndpoints(api)).toEqual(["10.0.0.2", "10.0.0.3"]);
  await api.client.delete(pods, { namespace, name: "a" }, { gracePeriodSeconds: 0 });
  await expect.poll(() => inEndpoints(api)).toEqual(["10.0.0.3"]);
  expect(inSlices(api)).toEqual(["10.0.0.3"]);
});

test("reverts changes by others, and ignores Services without a selector", async () => {
  const api = openTestApi();
  await makeWeb(api);
  await makePod(api, "a", "10.0.0.2");
  await api.client.create(services, { metadata: { namespace, name: "by-hand" }, spec: { ports: [{ port: 1 }] } });
  await api.client.create(endpoints, { metadata: { namespace, name: "by-hand" }, subsets: [] });
  await using writer = new EndpointWriter({ client: api.client, nodeName, log: silentLogger });
  await writer.ready;
  await expect.poll(() => inEndpoints(api)).toEqual(["10.0.0.2"]);
  await api.client.patch(endpoints, web, { type: "merge", body: { subsets: [] } });
  await expect.poll(() => inEndpoints(api)).toEqual(["10.0.0.2"]);
  expect(api.server.read(endpoints, { namespace, name: "by-hand" })).toMatchObject({ subsets: [] });
});
