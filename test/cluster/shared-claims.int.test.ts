import { describe, inject } from "vitest";
import { describeClaims } from "../controllers/claim-suite.ts";
import { cannotShare, sharedName, startShared } from "./shared-server.ts";

const cluster = inject("cluster");

describe.skipIf(cannotShare(cluster))("the suite of other servers", () => {
  describeClaims(sharedName(cluster), { startServer: () => startShared(cluster), size: 8 });
});
