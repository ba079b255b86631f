import { startReal } from "./claim-servers.ts";
import { describeClaims } from "./claim-suite.ts";

// kube-apiserver and etcd take ten times the processor time of the embedded API server for each write.
const size = process.env["STORM"] === "long" ? 300 : 100;

describeClaims("kube-apiserver", { startServer: startReal, size });
