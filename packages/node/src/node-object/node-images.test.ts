import { expect, test } from "vitest";
import type { StoredImage } from "../image/image-index.ts";
import { nodeImages } from "./node-images.ts";

const image = (id: string, sizeBytes: number, names: string[] = [], digests: string[] = []): StoredImage => ({
  id,
  names,
  digests,
  description: {
    architecture: "amd64",
    diffIds: [],
    entrypoint: [],
    command: [],
    environment: [],
    user: "",
    workingDir: "",
    stopSignal: "",
  },
  sizeBytes,
  createdAt: 0,
});

test("lists the largest first, by digest and name, or by id", () => {
  expect(nodeImages([image("sha256:1", 5), image("sha256:2", 7, ["a:1"], ["a@sha256:2"])])).toEqual([
    { names: ["a@sha256:2", "a:1"], sizeBytes: 7 },
    { names: ["sha256:1"], sizeBytes: 5 },
  ]);
});

test("lists at most fifty images and five names of each", () => {
  const names = Array.from({ length: 9 }, (_, index) => `a:${index}`);
  const listed = nodeImages(Array.from({ length: 60 }, (_, index) => image(`sha256:${index}`, index, names)));
  expect([listed.length, listed[0]?.sizeBytes, listed[0]?.names?.length]).toEqual([50, 59, 5]);
});
