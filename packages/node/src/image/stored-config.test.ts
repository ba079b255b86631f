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

test("an image without configuration has a default PATH and the working directory /", () => {
  expect(configOf(silent)).toEqual({
    entrypoint: [],
    command: [],
    environment: new Map([["PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]]),
    workingDir: "/",
    mounts: [],
  });
});

test("an image with all fields of the configuration", () => {
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
