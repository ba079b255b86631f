import { runSuites } from "./run-suites.ts";
import { checks, tests } from "./suites.ts";

const unit = tests.filter(({ name }) => name === "unit");
process.exitCode = (await runSuites([...checks, ...unit])).failed > 0 ? 1 : 0;
