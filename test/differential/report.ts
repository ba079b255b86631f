import { exchangeCases, kubectlCases } from "./cases/all-cases.ts";
import { render } from "./compare.ts";
import { Exceptions } from "./exceptions.ts";
import { knownDifferences } from "./known-differences.ts";
import { runCase } from "./run-case.ts";
import { startServers } from "./servers.ts";

/**
 * Every difference, excused or not, for whoever works on the server or on the table of exceptions.
 *
 *   node --conditions=source test/differential/report.ts [part of a case's name]
 */
const wanted = process.argv[2] ?? "";
const atATime = 6;
await using pair = await startServers();
const known = new Exceptions(knownDifferences);
const queue = [...kubectlCases, ...exchangeCases].filter(({ name }) => name.includes(wanted));
const total = queue.length;
let same = 0;

const worker = async (): Promise<void> => {
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const { name } = next;
    try {
      const found = await runCase(pair, next);
      const unexpected = new Set(known.unexpected(name, found));
      if (found.length === 0) same++;
      for (const difference of found) {
        console.log(`${unexpected.has(difference) ? "NEW" : "known"} ${name}: ${render(difference)}`);
      }
    } catch (error) {
      console.log(`FAILED ${name}:`, error);
    }
  }
};
await Promise.all(Array.from({ length: atATime }, worker));
console.log(`${same} of ${total} cases are answered alike`);
if (wanted === "") for (const glob of known.unused) console.log(`not needed any more: ${glob}`);
