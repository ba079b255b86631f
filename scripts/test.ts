import { remembered, stateOfTheWorld } from "./remembered-suites.ts";
import { runSuites } from "./run-suites.ts";
import { builds, checks, type Suite, tests } from "./suites.ts";

const wanted = process.argv[2] ?? "all";
const suites = wanted === "all" ? allSuites() : tests.filter(({ name }) => name === wanted);
if (suites.length === 0) {
  console.error(`Cannot find suite "${wanted}": there are all, ${tests.map(({ name }) => name).join(", ")}`);
  process.exit(2);
}

/** A suite that is asked for by name is always run, and so are all of them with `FRESH=1`. */
function allSuites(): Suite[] {
  const state = stateOfTheWorld();
  const fresh = process.env["FRESH"] === "1";
  const all = state === undefined ? tests : tests.map((suite) => remembered(suite, state, { fresh }));
  return [...builds, ...checks, ...all];
}

process.exitCode = (await runSuites(suites)).failed > 0 ? 1 : 0;
