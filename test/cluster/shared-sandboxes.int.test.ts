import { describe, inject } from "vitest";
import { describeSandboxes } from "../controllers/sandbox-suite.ts";
import { openShared } from "./shared-server.ts";

const cluster = inject("cluster");

describe.skipIf(cluster.sleeper === "")("the suite of other servers", () => {
  describeSandboxes("a real node", () => openShared(cluster));
});
