import { expect, test } from "vitest";
import type { ImageDescription } from "./manifest.ts";
import { configOf } from "./stored-config.ts";

const silent: ImageDescription = {
  architecture: "amd64",
  diffIds: [],
  entrypoint: [],
  command: [],
  environment: [],
  user: "",
  workingDir: "",
  stopSignal: "",
};

test("an image that says nothing has a PATH and the root for a folder", () => {
  expect(configOf(silent)).toEqual({
    entrypoint: [],
    command: [],
    environment: new Map([["PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]]),
    workingDir: "/",
    mounts: [],
  });
});

test("an image that says everything", () => {
  const description: ImageDescription = {
    ...silent,
    entrypoint: ["/run"],
    command: ["-v"],
    environment: ["PATH=/bin", "A=b=c", "EMPTY=", "=nothing"],
    user: "app",
    workingDir: "srv/app",
    stopSignal: "SIGINT",
  };
  expect(configOf(description)).toEqual({
    entrypoint: ["/run"],
    command: ["-v"],
    environment: new Map([
      ["PATH", "/bin"],
      ["A", "b=c"],
      ["EMPTY", ""],
    ]),
    user: "app",
    workingDir: "/srv/app",
    stopSignal: "SIGINT",
    mounts: [],
  });
});
