import { boundCompileCache } from "./compile-cache.ts";
import { hashOfInputs, skipIfPassed } from "./passed-suites.ts";
import { runSuites } from "./run-suites.ts";
import { builds, checks, type Suite, slowBuilds, tests } from "./suites.ts";

const wanted = process.argv[2] ?? "all";
const all = wanted === "all";
const suites = all ? allSuites() : tests.filter(({ name }) => name === wanted);
if (suites.length === 0) {
  console.error(`Cannot find suite "${wanted}": want all, ${tests.map(({ name }) => name).join(", ")}`);
  process.exit(2);
}

/** A suite that is named on the command line always runs, and so do all of them with `FRESH=1`. */
function allSuites(): Suite[] {
  const fresh = process.env["FRESH"] === "1";
  const wrapped = tests.map((suite) => {
    const key = hashOfInputs(suite.name);
    return key === undefined ? suite : skipIfPassed(suite, key, { fresh });
  });
  return [...slowBuilds, ...checks, ...wrapped];
}

boundCompileCache();
process.exitCode = (await runSuites(suites, all ? builds : [])).failed > 0 ? 1 : 0;
