import type { ListedImage } from "@agent-sandbox/node";
import { expect, test } from "vitest";
import { imageTable, pullImage } from "./image.ts";

const image = (over: Partial<ListedImage>): ListedImage => ({
  id: `sha256:${"0123456789abcdef".repeat(4)}`,
  names: [],
  digests: [],
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
  sizeBytes: 5 * 2 ** 20,
  createdAt: 0,
  inUse: false,
  lastUsedAt: 0,
  ...over,
});

test("prints a row for each tag, and one for an untagged image", () => {
  const images = [image({ names: ["docker.io/library/a:1", "localhost:5000/b:2"], inUse: true }), image({})];
  expect(imageTable(images, 90_000).split("\n")).toEqual([
    "REPOSITORY            TAG      IMAGE ID       SIZE     AGE   IN USE",
    "docker.io/library/a   1        0123456789ab   5.0MiB   90s   yes",
    "localhost:5000/b      2        0123456789ab   5.0MiB   90s   yes",
    "<none>                <none>   0123456789ab   5.0MiB   90s   no",
  ]);
});

test.for(["host", "sandboxd"])("%s is not looked for in a registry", async (name) => {
  await expect(pullImage(name, {})).rejects.toThrow(`Cannot pull "${name}": it is built in`);
});
