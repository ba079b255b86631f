import { describe, inject } from "vitest";
import { describeClaims } from "../controllers/claim-suite.ts";
import { openShared } from "./shared-server.ts";

const cluster = inject("cluster");

describe.skipIf(cluster.sleeper === "")("the suite of other servers", () => {
  describeClaims("a real node", { startServer: () => openShared(cluster), size: 8 });
});
