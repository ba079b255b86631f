import { CliProcess } from "../cli-process.ts";

interface Started {
  readonly url: string;
  readonly metricsAddress: { readonly port: number };
  readonly probesAddress: { readonly port: number };
}

/** The same as in the launcher. */
const memory = { NODE_OPTIONS: "--max-semi-space-size=8", MALLOC_ARENA_MAX: "1" };

/** Starts `agent-sandbox router` as a process, on free ports unless the flags set others. */
export class RouterProcess extends CliProcess {
  readonly started: Promise<Started>;

  constructor(flags: readonly string[]) {
    const addresses = ["http", "metrics", "health-probe"]
      .filter((name) => !flags.some((flag) => flag.startsWith(`--${name}-bind-address=127.0.0.1:`)))
      .map((name) => `--${name}-bind-address=127.0.0.1:0`);
    super(["router", ...flags, ...addresses, "--access-log=false"], { KUBECONFIG: "", ...memory });
    this.started = this.said("router started") as Promise<unknown> as Promise<Started>;
    // The error is reported to whoever awaits it.
    this.started.catch(() => undefined);
  }
}
