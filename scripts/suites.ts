import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { relative, resolve } from "node:path";
import { compileCache } from "./compile-cache.ts";

export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export interface Failure {
  /** The file or package, and the name of the test. */
  readonly name: string;
  /** The test file, or the Go package. */
  readonly file: string;
  /** The first lines of the error. */
  readonly message?: string;
}

export interface SuiteResult extends Tally {
  readonly output: string;
  /** Empty if the run failed without a failing test. */
  readonly failures?: readonly Failure[];
}

/** `run` counts the tests. It reports every failure in its result and never throws. */
export interface Suite {
  readonly name: string;
  run(): Promise<SuiteResult>;
  /** Runs files again, one after the other. Missing if a second run cannot give another result. */
  runAgain?(files: readonly string[]): Promise<SuiteResult>;
}

const root = resolve(import.meta.dirname, "..");
const reports = `${root}/.cache/reports`;

const env = { ...process.env, NODE_COMPILE_CACHE: compileCache };

function runCommand(
  command: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv } = { cwd: root, env },
): Promise<{ ok: boolean; skipped: boolean; output: string }> {
  return new Promise((settle) => {
    const chunks: string[] = [];
    const child = spawn(command, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
    const keep = (chunk: Buffer) => chunks.push(chunk.toString("utf8"));
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
    child.once("error", (error) => settle({ ok: false, skipped: false, output: error.message }));
    child.once("close", (code) => settle({ ok: code === 0, skipped: code === skippedStatus, output: chunks.join("") }));
  });
}

/** The exit status of a command that cannot run here, as Automake and TAP harnesses use it. */
const skippedStatus = 77;

/** One command is one test: it passes if it exits with status 0. */
function step(name: string, command: string, ...args: string[]): Suite {
  return {
    name,
    run: async () => {
      const { ok, skipped, output } = await runCommand(command, args);
      return { passed: ok ? 1 : 0, failed: ok || skipped ? 0 : 1, skipped: skipped ? 1 : 0, output };
    },
  };
}

function vitest(project: string): Suite {
  const run = async (...args: string[]): Promise<SuiteResult> => {
    const report = `${reports}/${project}.json`;
    mkdirSync(reports, { recursive: true });
    rmSync(report, { force: true });
    const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
    const { ok, output } = await runCommand("vitest", ["run", "--project", project, ...reporters, ...args]);
    return { ...tallyVitest(report, ok), output };
  };
  const suite = { name: project, run: () => run() };
  // Unit tests do not depend on what else the machine does.
  return project === "unit" ? suite : { ...suite, runAgain: (files) => run("--no-file-parallelism", ...files) };
}

interface VitestReport {
  readonly numPassedTests?: number;
  readonly numFailedTests?: number;
  readonly numPendingTests?: number;
  readonly numTodoTests?: number;
  readonly testResults?: readonly VitestFile[];
}

interface VitestFile {
  readonly name: string;
  readonly status: string;
  readonly message?: string;
  readonly assertionResults: readonly {
    readonly status: string;
    readonly fullName: string;
    readonly failureMessages?: readonly string[];
  }[];
}

/** A run that failed without a failing test (a crash, a file that does not load) counts as one failure. */
export function tallyVitest(path: string, ok: boolean): Omit<SuiteResult, "output"> {
  let report: VitestReport;
  try {
    report = JSON.parse(readFileSync(path, "utf8")) as VitestReport;
  } catch {
    return { passed: 0, failed: 1, skipped: 0, failures: [] };
  }
  const { numPassedTests = 0, numFailedTests = 0, numPendingTests = 0, numTodoTests = 0, testResults = [] } = report;
  const failed = numFailedTests > 0 || ok ? numFailedTests : 1;
  const failures = testResults.flatMap(failuresOf);
  return { passed: numPassedTests, failed, skipped: numPendingTests + numTodoTests, failures };
}

function failuresOf({ name, status, message, assertionResults }: VitestFile): Failure[] {
  const file = relative(root, name);
  const failed = assertionResults.filter((each) => each.status === "failed");
  if (failed.length === 0 && status === "failed") return [{ name: file, file, ...firstLines(message) }];
  return failed.map(({ fullName, failureMessages = [] }) => ({
    name: `${file} > ${fullName}`,
    file,
    ...firstLines(failureMessages[0]),
  }));
}

const shownLines = 6;
const shownCharacters = 1000;

/** Without the stack trace. */
function firstLines(text: string | undefined): Pick<Failure, "message"> {
  const lines = (text ?? "").split("\n").filter((line) => line.trim() !== "" && !/^\s+at /.test(line));
  return lines.length === 0 ? {} : { message: lines.slice(0, shownLines).join("\n").slice(0, shownCharacters) };
}

/** Packages of Go, and how they are tested. */
interface GoTests {
  readonly packages: readonly string[];
  readonly flags: readonly string[];
  readonly env?: { readonly [name: string]: string };
}

/** sandboxd under the race detector. The tests of the whole program build it with the race detector but need none themselves. */
const sandboxdTests: readonly GoTests[] = [
  { packages: ["./cmd/...", "./internal/..."], flags: ["-race"] },
  // They mostly wait: for the ends of processes, for timeouts, for stalled clients.
  { packages: ["./test/..."], flags: ["-parallel=6"], env: { SANDBOXD_RACE: "1" } },
];

/** The tests of a Go module. A package that does not build counts as one failure. */
function goTests(name: string, folder: string, parts: readonly GoTests[]): Suite {
  const run = async (runs: readonly GoTests[], ...more: string[]): Promise<SuiteResult> => {
    const outputs: string[] = [];
    let all = true;
    for (const { packages, flags, env: added = {} } of runs) {
      // Go would reuse the result of tests whose own code has not changed, even if the program that they start has.
      const args = ["test", "-json", "-count=1", ...flags, ...more, ...packages];
      const { ok, output } = await runCommand("go", args, { cwd: `${root}/${folder}`, env: { ...env, ...added } });
      outputs.push(output);
      all &&= ok;
    }
    return tallyGo(outputs.join("\n"), all);
  };
  const again = (failed: readonly string[]): GoTests[] =>
    parts.flatMap((part) => {
      const folders = part.packages.map((pattern) => pattern.slice(".".length, -"...".length));
      const packages = failed.filter((one) => folders.some((each) => `${one}/`.includes(each)));
      return packages.length === 0 ? [] : [{ ...part, packages }];
    });
  return { name, run: () => run(parts), runAgain: (failed) => run(again(failed), "-p=1") };
}

interface GoEvent {
  readonly Action?: string;
  readonly Test?: string;
  readonly Package?: string;
  readonly Output?: string;
}

/** Counts the output of `go test -json`, which has one event per line. Other lines come from the compiler. */
export function tallyGo(output: string, ok: boolean): SuiteResult {
  const events = output.split("\n").flatMap((line): GoEvent[] => {
    try {
      return line === "" ? [] : [JSON.parse(line) as GoEvent];
    } catch {
      return [{ Output: `${line}\n` }];
    }
  });
  const count = (action: string): number => events.filter((each) => each.Action === action && each.Test).length;
  const [passed, failed, skipped] = [count("pass"), count("fail"), count("skip")];
  const texts = events.map(({ Output = "" }) => Output);
  const failures = events.flatMap(({ Action, Test, Package = "" }): Failure[] =>
    Action === "fail" && Test !== undefined ? [{ name: `${Package} > ${Test}`, file: Package }] : [],
  );
  const shown = texts.filter(isWorthShowing).join("");
  return { passed, failed: failed > 0 || ok ? failed : 1, skipped, failures, output: shown };
}

const isWorthShowing = (text: string): boolean => !/^\s*(?:=== |--- PASS|PASS$)/.test(text);

const nodeScript = (name: string, ...args: string[]): Suite =>
  step(name, "node", "--conditions=source", "--disable-warning=ExperimentalWarning", ...args);

/** Checks that read the sources without running the product. */
export const checks: readonly Suite[] = [
  step("format", "biome", "check", "--error-on-warnings", "."),
  // Fewer threads and less garbage collection need a third less processor time, and other checks use the rest of the machine.
  step("types", "env", "GOGC=400", "tsc", "-b", "--checkers", "1", "--builders", "1"),
  step("lint", "oxlint", "--type-aware", "--deny-warnings"),
  nodeScript("layers", "scripts/layers.ts"),
  nodeScript("CRDs", "packages/api/generate/main.ts", "--check"),
  nodeScript("manifests", "scripts/operator/main.ts", "--check"),
  nodeScript("built-in kinds", "packages/apiserver/generate/main.ts", "--check"),
  nodeScript("protobuf shapes", "packages/apiserver/generate/protobuf.ts", "--check"),
  step("Go format", "scripts/check-go.sh", "format"),
  step("Go vet", "scripts/check-go.sh", "vet"),
  step("Go generated", "scripts/check-go.sh", "generated"),
  step("Python generated", "scripts/check-python.sh", "generated"),
  step("Python lint", "scripts/check-python.sh", "lint"),
];

/** Takes ten minutes on a new machine and nothing later. The suites that use kube-apiserver wait for it, the others do not. */
export const slowBuilds: readonly Suite[] = [
  step("kube-apiserver build", "bash", "test/kube-apiserver/build.sh"),
  step("cluster build", "bash", "test/cluster/node/build-all.sh"),
];

/** These take minutes on a new machine and nothing later. They end before the suites start, which need their files. */
export const builds: readonly Suite[] = [
  step("gVisor build", "bash", "packages/node/gvisor/build.sh", "dist"),
  step("runc build", "bash", "packages/node/runc/build.sh", "dist"),
  nodeScript("command line", "scripts/build.ts", "--if-changed"),
];

// The longest first: the whole run is never shorter than its longest suite, and the last ones are short enough to end together.
export const tests: readonly Suite[] = [
  vitest("node"),
  vitest("differential"),
  vitest("security"),
  vitest("cluster"),
  vitest("state"),
  vitest("data-plane"),
  vitest("sdk"),
  vitest("controllers"),
  vitest("unit"),
  goTests("sandboxd", "sandboxd", sandboxdTests),
  vitest("apiserver"),
  vitest("e2e"),
  vitest("dashboard"),
  vitest("docs"),
  vitest("examples"),
  vitest("router"),
  step("release", "test/release/debian.sh"),
  vitest("operator"),
  vitest("reference-clients"),
  vitest("compat"),
  vitest("clients"),
  vitest("kube-apiserver"),
  vitest("kube"),
];
