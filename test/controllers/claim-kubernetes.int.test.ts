import { startReal } from "./claim-servers.ts";
import { describeClaims } from "./claim-suite.ts";

describeClaims("kube-apiserver", startReal);
