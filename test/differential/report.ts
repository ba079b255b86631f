import { parseArgs } from "node:util";
import { exchangeCases, kubectlCases, loneCases } from "./cases/all-cases.ts";
import { render } from "./compare.ts";
import { Exceptions } from "./exceptions.ts";
import { knownDifferences } from "./known-differences.ts";
import { runCase } from "./run-case.ts";
import { startServers } from "./servers.ts";

/**
 * Prints every difference, known or not, for work on the server or on the list of known differences.
 *
 *   node --conditions=source test/differential/report.ts [--older] [part of a case's name]
 *
 * `--older`: run kubectl cases with the older kubectl.
 */
const { values, positionals } = parseArgs({ allowPositionals: true, options: { older: { type: "boolean" } } });
const release = values.older === true ? "older" : "same";
const [wanted = ""] = positionals;
const cases =
  release === "older" ? kubectlCases.filter(({ newOnly = false }) => !newOnly) : [...kubectlCases, ...exchangeCases];
const atATime = 6;
await using pair = await startServers();
const known = new Exceptions(knownDifferences);
const queue = cases.filter(({ name }) => name.includes(wanted));
const alone = release === "older" ? [] : loneCases.filter(({ name }) => name.includes(wanted));
const total = queue.length + alone.length;
let same = 0;

const worker = async (): Promise<void> => {
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const { name } = next;
    try {
      const found = await runCase(pair, next, release);
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
queue.push(...alone);
await worker();
console.log(`${same} of ${total} cases have no differences`);
if (wanted === "" && release === "same") for (const glob of known.unused) console.log(`no longer needed: ${glob}`);
