import { startEmbedded } from "./claim-servers.ts";
import { describeClaims } from "./claim-suite.ts";

describeClaims("the embedded API server", { startServer: startEmbedded, size: 300 });
