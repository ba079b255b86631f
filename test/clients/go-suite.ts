import { type InnerResults, readInnerResults } from "./inner-results.ts";
import { type CommandOptions, runCommand } from "./run-command.ts";
import { demand } from "./unavailable.ts";

/** Runs the suite of client-go. The first run on a machine compiles for minutes. */
export async function runGoSuite(kubeconfig: string, signal: AbortSignal): Promise<InnerResults> {
  const options: CommandOptions = {
    cwd: `${import.meta.dirname}/go`,
    env: { KUBECONFIG: kubeconfig, GOFLAGS: "-mod=readonly -buildvcs=false", GOWORK: "off", CGO_ENABLED: "0" },
    signal,
  };
  demand("fetch the Go modules", await runCommand("go", ["mod", "download"], options));
  // With low priority and two packages at a time, so that compiling does not block other work on the machine.
  const test = ["go", "test", "-json", "-count=1", "-p", "2", "-timeout", "10m", "./..."];
  const ended = await runCommand("nice", ["-n", "5", ...test], options);
  const results = readInnerResults(ended.stdout);
  if (ended.code !== 0 && results.failed.length === 0) demand("run go test", ended);
  return results;
}
