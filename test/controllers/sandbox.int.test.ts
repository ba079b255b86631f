import { startEmbedded } from "./sandbox-server.ts";
import { describeSandboxes } from "./sandbox-suite.ts";

describeSandboxes("the embedded API server, with its own rights alone", startEmbedded);
