import { runSuites } from "./run-suites.ts";
import { checks, kubernetesBuild, tests } from "./suites.ts";

const wanted = process.argv[2] ?? "all";
const suites = wanted === "all" ? [kubernetesBuild, ...checks, ...tests] : tests.filter(({ name }) => name === wanted);
if (suites.length === 0) {
  console.error(`Cannot find suite "${wanted}": there are all, ${tests.map(({ name }) => name).join(", ")}`);
  process.exit(2);
}
process.exitCode = (await runSuites(suites)).failed > 0 ? 1 : 0;
