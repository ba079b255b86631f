import { CliProcess } from "../cli-process.ts";

/** Uses free ports, and a lease in the namespace of the test. */
const quietFlags = [
  "--extensions",
  "--metrics-bind-address=127.0.0.1:0",
  "--health-probe-bind-address=127.0.0.1:0",
  "--webhook-port=0",
  "--leader-election-namespace=default",
];

/** `agent-sandbox manager` as a child process. */
export class ManagerProcess extends CliProcess {
  constructor(kubeconfig: string, flags: readonly string[] = [], env: NodeJS.ProcessEnv = {}) {
    super(["manager", ...quietFlags, ...flags], { ...env, KUBECONFIG: kubeconfig });
  }
}
