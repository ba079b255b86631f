import { runSuites } from "./run-suites.ts";
import { checks, tests } from "./suites.ts";

const unit = tests.filter(({ name }) => name === "unit");
// The longest first: the others run beside it.
process.exitCode = (await runSuites([...unit, ...checks])).failed > 0 ? 1 : 0;
