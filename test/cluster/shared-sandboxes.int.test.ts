import { describe, inject } from "vitest";
import { describeSandboxes } from "../controllers/sandbox-suite.ts";
import { cannotShare, sharedName, startShared } from "./shared-server.ts";

const cluster = inject("cluster");

describe.skipIf(cannotShare(cluster))("the suite of other servers", () => {
  describeSandboxes(sharedName(cluster), () => startShared(cluster));
});
