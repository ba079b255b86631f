import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, type TestContext, test } from "vitest";
import { pythonWith } from "../clients/python-suite.ts";
import { runCommand } from "../clients/run-command.ts";
import { available } from "../clients/unavailable.ts";
import { whyNoBox } from "../e2e/box.ts";
import { freePort } from "../free-port.ts";
import { CompatBox } from "./compat-box.ts";
import { npmPackages } from "./npm-packages.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

const keylessTimeoutMs = 900_000;
const creates = Number(process.env["COMPAT_CREATES"] ?? 12);
const requirements = join(import.meta.dirname, "python/e2b/requirements.txt");

describe.skipIf(reason !== undefined)(
  "sandboxes that are created while the box is killed",
  { timeout: 900_000 },
  () => {
    let box: CompatBox;
    let listen: string;
    beforeAll(async () => {
      listen = `127.0.0.1:${await freePort()}`;
      box = await CompatBox.start("--compat-listen", listen);
    }, 180_000);
    afterAll(async () => await box?.[Symbol.asyncDispose](), 300_000);

    interface Result {
      readonly id?: string;
      readonly error?: string;
    }

    /** Python: each create has a key, so one whose answer was lost is sent again by the program with that key. */
    async function createWithKeys(context: TestContext): Promise<readonly Result[]> {
      const { signal } = context;
      const python = await available(pythonWith("compat-e2b", requirements, signal), context);
      const script = join(import.meta.dirname, "storm/create_many.py");
      const { stdout, stderr } = await runCommand(python, [script, String(creates)], {
        env: box.environment(),
        signal,
      });
      return JSON.parse(stdout || `"${stderr}"`) as readonly Result[];
    }

    /** JavaScript: there are no keys, and the client's own retries are all. The program creates another one after an error. */
    async function createWithoutKeys(context: TestContext): Promise<readonly Result[]> {
      const { Sandbox } = (await available(npmPackages(), context))("e2b");
      const options = { apiKey: box.key("team-b"), apiUrl: `http://${listen}/e2b`, sandboxUrl: `http://${listen}` };
      const createOne = async (number: number): Promise<Result> => {
        let error = "";
        for (let attempt = 0; attempt < 120; attempt++) {
          try {
            const metadata = { number: String(number) };
            return { id: (await Sandbox.create({ ...options, timeoutMs: keylessTimeoutMs, metadata })).sandboxId };
          } catch (failure) {
            error = String(failure);
            failures++;
            await sleep(1000);
          }
        }
        return { error };
      };
      return Promise.all(Array.from({ length: creates }, (_, number) => createOne(number)));
    }
    let failures = 0;

    interface Claim {
      readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
      readonly spec: { readonly lifecycle?: { readonly shutdownTime?: string } };
    }
    const claimsOf = (namespace: string): Claim[] =>
      (JSON.parse(box.kubectl("get", "sandboxclaims", "-n", namespace, "-o", "json")) as { items: Claim[] }).items;
    const isAnswered = ({ metadata }: Claim): boolean =>
      metadata.annotations?.["compat.agents.x-k8s.io/sandbox-uid"] !== undefined;

    /** Each number has one sandbox, and all that the client knows exist. */
    async function expectNothingLost(results: readonly Result[], namespace: string): Promise<readonly string[]> {
      expect(results.flatMap(({ error }) => error ?? [])).toEqual([]);
      const ids = results.flatMap(({ id }) => id ?? []);
      expect(new Set(ids).size).toBe(creates);
      const headers = { "x-api-key": box.key(namespace) };
      const numbers = await Promise.all(
        ids.map(async (id) => {
          const answer = await fetch(`http://${listen}/e2b/sandboxes/${id}`, { headers });
          return ((await answer.json()) as { readonly metadata: { readonly number: string } }).metadata.number;
        }),
      );
      expect(numbers.toSorted()).toEqual(ids.map((_, number) => String(number)).toSorted());
      return ids;
    }

    test(`${creates} at once with keys, and ${creates} without: none is lost or left behind`, async (context) => {
      // Installed before anything is created.
      await available(npmPackages(), context);
      await available(pythonWith("compat-e2b", requirements, context.signal), context);
      const creatingWithKeys = createWithKeys(context);
      creatingWithKeys.catch(() => undefined);
      const patience = { timeout: 60_000 };
      // Python needs a second to start. The other creates would be complete by then.
      await expect.poll(() => box.claims("team-a"), patience).not.toEqual([]);
      const running = Promise.all([creatingWithKeys, createWithoutKeys(context)]);
      running.catch(() => undefined);
      await expect.poll(() => box.claims("team-b"), patience).not.toEqual([]);
      process.kill(box.box.pid(), "SIGKILL");
      expect(await box.box.up("--compat-listen", listen)).toMatchObject({ code: 0 });
      const [withKeys, withoutKeys] = await running;
      // The kill met creates of both clients.
      expect(failures).toBeGreaterThan(0);
      const keyed = await expectNothingLost(withKeys, "team-a");
      // A repeated create gets the sandbox of the attempt that was cut off.
      expect(claimsOf("team-a").map(({ metadata }) => metadata.name)).toEqual(expect.arrayContaining([...keyed]));
      expect(claimsOf("team-a")).toHaveLength(creates);
      const known = await expectNothingLost(withoutKeys, "team-b");
      const unknown = (): Claim[] => claimsOf("team-b").filter(({ metadata }) => !known.includes(metadata.name));
      // Nobody was told of them: they are deleted after two minutes.
      const unanswered = (): string[] => unknown().flatMap((claim) => (isAnswered(claim) ? [] : [claim.metadata.name]));
      await expect.poll(unanswered, { timeout: 300_000, interval: 1000 }).toEqual([]);
      // The answer was lost on its way. Without a key nobody can tell, so such a sandbox lives until its deadline.
      const latest = Date.now() + keylessTimeoutMs;
      for (const { spec } of unknown()) expect(Date.parse(spec.lifecycle?.shutdownTime ?? "")).toBeLessThan(latest);
    });
  },
);
