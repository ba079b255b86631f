import { startReal } from "./claim-servers.ts";
import { describeSandboxes } from "./sandbox-suite.ts";

describeSandboxes("kube-apiserver", startReal);
