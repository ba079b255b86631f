import { boundCompileCache } from "./compile-cache.ts";
import { runSuites } from "./run-suites.ts";
import { checks, tests } from "./suites.ts";

const unit = tests.filter(({ name }) => name === "unit");
boundCompileCache();
// The longest first: the others run beside it.
process.exitCode = (await runSuites([...unit, ...checks])).failed > 0 ? 1 : 0;
