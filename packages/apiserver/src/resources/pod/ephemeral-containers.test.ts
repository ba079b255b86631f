import { afterEach, beforeEach, expect, test } from "vitest";
import { FakePodStreams } from "../../streams/fake-pod-streams.test.support.ts";
import { pod, pods, TestApi } from "../../testing/test-api.test.support.ts";

let api: TestApi;
beforeEach(async () => {
  api = await TestApi.start({ podStreams: new FakePodStreams(), nodeName: "box" });
  await api.create(pods, pod("p"));
});
afterEach(() => api[Symbol.asyncDispose]());

const part = `${pods}/p/ephemeralcontainers`;
const add = (...containers: object[]) => api.strategic(part, { spec: { ephemeralContainers: containers } });
const look = { name: "look", image: "busybox" };

test("ephemeral containers get the defaults of containers and increase the generation", async () => {
  const before = await api.get(`${pods}/p`);
  expect((await add(look)).status).toBe(200);
  const after = await api.get(part);
  expect(after["spec"]).toEqual({
    ...(before["spec"] as object),
    ephemeralContainers: [
      {
        ...look,
        resources: {},
        imagePullPolicy: "Always",
        terminationMessagePath: "/dev/termination-log",
        terminationMessagePolicy: "File",
      },
    ],
  });
  expect([before.metadata["generation"], after.metadata["generation"]]).toEqual([1, 2]);
});

test("a write to ephemeralcontainers changes nothing else of the Pod", async () => {
  const before = await api.get(`${pods}/p`);
  const { status } = await api.merge(part, {
    metadata: { labels: { new: "x" } },
    spec: { hostname: "new", ephemeralContainers: [look] },
  });
  const { metadata, spec } = await api.get(`${pods}/p`);
  expect(status).toBe(200);
  expect(metadata["labels"]).toBeUndefined();
  expect({ ...(spec as object), ephemeralContainers: undefined }).toEqual(before["spec"]);
});

test("ephemeral containers cannot change, and must follow the rules of containers", async () => {
  await add(look);
  const answers = [
    await add({ ...look, image: "other" }),
    await api.json(part, [{ op: "remove", path: "/spec/ephemeralContainers" }]),
    await add({ name: "main", image: "busybox" }),
    await add({ ...look, name: "ports", ports: [{ containerPort: 80 }] }),
    await add({ ...look, name: "lost", targetContainerName: "nosuch" }),
    await add({ ...look, name: "other", securityContext: { privileged: "yes" } }),
    await api.send("POST", pods, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "q" },
      spec: { containers: [{ name: "main", image: "busybox" }], ephemeralContainers: [look] },
    }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([422, 422, 422, 422, 422, 422, 422]);
  expect(await api.get(`${pods}/p`)).toMatchObject({ spec: { ephemeralContainers: [{ name: "look" }] } });
});

test("ephemeral containers and init containers have logs", async () => {
  await add(look);
  const running = { ready: true, restartCount: 0, image: "", imageID: "", state: { running: {} } };
  await api.merge(`${pods}/p/status`, { status: { ephemeralContainerStatuses: [{ name: "look", ...running }] } });
  const { status, body } = await api.send("GET", `${pods}/p/log?container=look`);
  expect({ status, asked: JSON.parse(body) }).toMatchObject({ status: 200, asked: { container: "look" } });
});

test.for(["constructor", "toString", "__proto__", "nosuch"])("%s is not a subresource", async (name) => {
  const { status } = await api.merge(`${pods}/p/${name}`, { spec: {} });
  expect(status).toBe(404);
});
