import type { Service } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { podsNamed } from "./names.ts";
import type { ServingPod } from "./services.ts";

const pod = (name: string, address: string, more: Partial<ServingPod> = {}): ServingPod => ({
  namespace: "n",
  name,
  labels: { app: "web" },
  address,
  ports: new Map([["http", 8080]]),
  ready: true,
  hostname: name,
  subdomain: "",
  ...more,
});

const service = (name: string, spec: object): Service => ({
  metadata: { namespace: "n", name },
  spec: { selector: { app: "web" }, ports: [{ port: 80, targetPort: "http" }], ...spec },
});

const pods = [
  pod("one", "10.0.0.2", { subdomain: "headless" }),
  pod("two", "10.0.0.3", { ready: false }),
  pod("other", "10.0.0.4", { namespace: "m" }),
];
const services = [
  service("web", { clusterIP: "10.96.0.7" }),
  service("headless", { clusterIP: "None" }),
  service("eager", { clusterIP: "None", publishNotReadyAddresses: true }),
  service("none", { clusterIP: "None", selector: {} }),
];

test.each([
  ["one.n.svc.cluster.local", ["10.0.0.2"]],
  ["ONE.N.svc.cluster.local.", ["10.0.0.2"]],
  ["other.n.svc.cluster.local", []],
  ["other.m.svc.cluster.local", ["10.0.0.4"]],
  ["web.n.svc.cluster.local", ["10.96.0.7"]],
  ["headless.n.svc.cluster.local", ["10.0.0.2"]],
  ["eager.n.svc.cluster.local", ["10.0.0.2", "10.0.0.3"]],
  ["none.n.svc.cluster.local", []],
  ["one.headless.n.svc.cluster.local", ["10.0.0.2"]],
  ["two.headless.n.svc.cluster.local", []],
  ["a.b.c.n.svc.cluster.local", []],
  ["svc.cluster.local", []],
  ["cluster.local", []],
  ["one.n", undefined],
  ["example.org", undefined],
  ["", undefined],
])("%s is at %j", (name, addresses) => {
  const view = {
    pods,
    services: new Map(services.map((each) => [`${each.metadata?.namespace}/${each.metadata?.name}`, each])),
  };
  const found = podsNamed(name, view);
  expect(found && (found.address === undefined ? found.pods.map(({ address }) => address) : [found.address])).toEqual(
    addresses,
  );
});
