import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { fuzz } from "./fuzz-run.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    /** The seed of the cases. Default: random. */
    seed: { type: "string" },
    /** Sends and prints only this case of the seed. */
    case: { type: "string" },
  },
});
const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed);
const only = values.case === undefined ? undefined : Number(values.case);
console.log(`seed ${seed}, ${values.seconds} s`);
const { cases, statuses, longestTurnMs, heapGrowthBytes, failures } = await fuzz({
  seed,
  seconds: Number(values.seconds),
  only,
  onCase: only === undefined ? () => undefined : (_, what) => console.log(what),
});
const counts = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
console.log(`${cases} cases; ${counts.join(", ")}`);
console.log(
  `longest turn ${Math.round(longestTurnMs)} ms of CPU time; heap grew by ${Math.round(heapGrowthBytes / 2 ** 20)} MiB`,
);
for (const failure of failures.slice(0, 20)) console.log(`FAILED ${failure}`);
console.log(failures.length === 0 ? "no failures" : `${failures.length} failures; repeat with --seed ${seed}`);
process.exitCode = failures.length === 0 ? 0 : 1;
