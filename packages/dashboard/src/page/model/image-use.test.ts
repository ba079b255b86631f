import type { Sandbox, SandboxTemplate } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { imageRows, imagesIn } from "./image-use.ts";

const specOf = (...images: string[]) => ({
  podTemplate: { spec: { containers: images.map((image, index) => ({ name: `c${index}`, image })) } },
});
const sandbox = (name: string, ...images: string[]): Sandbox => ({
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: { name },
  spec: specOf(...images),
});
const template = (name: string, image: string): SandboxTemplate => ({
  apiVersion: "extensions.agents.x-k8s.io/v1beta1",
  kind: "SandboxTemplate",
  metadata: { name },
  spec: specOf(image),
});
const debian = ["docker.io/library/debian@sha256:1", "docker.io/library/debian:12"];

test("an image that is used twice in a Pod is listed once", () => {
  expect(imagesIn(specOf("a", "a", "b"))).toEqual(["a", "b"]);
  expect(imagesIn({})).toEqual([]);
});

test("short names and digests belong to the image that the node reports", () => {
  const known = [{ node: "box", names: debian, sizeBytes: 7 }];
  const users = [sandbox("short", "debian:12"), sandbox("digest", "docker.io/library/debian@sha256:1")];
  const [row, ...others] = imageRows(known, users, [template("t", "library/debian:12")]);
  expect(others).toEqual([]);
  expect(row).toMatchObject({ name: "docker.io/library/debian:12", names: debian, sizeBytes: 7, nodes: ["box"] });
  expect(row?.sandboxes).toEqual(users);
  expect(row?.templates).toHaveLength(1);
});

test("an image on two nodes is one row, and one that no node reports has no size", () => {
  const known = ["one", "two"].map((node) => ({ node, names: debian, sizeBytes: 7 }));
  const rows = imageRows(known, [sandbox("own", "registry.test/own:1")], []);
  expect(rows.map(({ name, nodes, sizeBytes }) => ({ name, nodes, sizeBytes }))).toEqual([
    { name: "docker.io/library/debian:12", nodes: ["one", "two"], sizeBytes: 7 },
    { name: "registry.test/own:1", nodes: [], sizeBytes: undefined },
  ]);
});
