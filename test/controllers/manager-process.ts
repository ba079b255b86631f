import { CliProcess } from "../cli-process.ts";

/** No port is fixed, and the lease is where the test's objects are. */
const quietFlags = [
  "--extensions",
  "--metrics-bind-address=127.0.0.1:0",
  "--health-probe-bind-address=127.0.0.1:0",
  "--webhook-port=0",
  "--leader-election-namespace=default",
];

/** `agent-sandbox manager` as a process of its own. */
export class ManagerProcess extends CliProcess {
  constructor(kubeconfig: string, flags: readonly string[] = [], env: NodeJS.ProcessEnv = {}) {
    super(["manager", ...quietFlags, ...flags], { ...env, KUBECONFIG: kubeconfig });
  }
}
