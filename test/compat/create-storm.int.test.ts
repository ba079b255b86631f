import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pythonWith } from "../clients/python-suite.ts";
import { runCommand } from "../clients/run-command.ts";
import { available } from "../clients/unavailable.ts";
import { whyNoBox } from "../e2e/box.ts";
import { freePort } from "../free-port.ts";
import { CompatBox } from "./compat-box.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

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

    test(`${creates} at once: none is lost, duplicated or left behind`, async (context) => {
      const { signal } = context;
      const python = await available(pythonWith("compat-e2b", requirements, signal), context);
      const script = join(import.meta.dirname, "storm/create_many.py");
      const running = runCommand(python, [script, String(creates)], { env: box.environment(), signal });
      await expect.poll(() => box.claims().length, { timeout: 60_000 }).toBeGreaterThan(1);
      process.kill(box.box.pid(), "SIGKILL");
      expect(await box.box.up("--compat-listen", listen)).toMatchObject({ code: 0 });
      const { stdout, stderr } = await running;
      const results = JSON.parse(stdout || `"${stderr}"`) as readonly {
        readonly id?: string;
        readonly error?: string;
      }[];
      expect(results.flatMap(({ error }) => error ?? [])).toEqual([]);
      const ids = results.flatMap(({ id }) => id ?? []);
      expect(new Set(ids).size).toBe(creates);
      const wanted = ids.map((id) => `sandboxclaim.extensions.agents.x-k8s.io/${id}`).toSorted();
      // The claims of attempts that were cut off are deleted in the background.
      await expect.poll(() => box.claims().toSorted(), { timeout: 200_000, interval: 1000 }).toEqual(wanted);
      const headers = { "x-api-key": box.key() };
      const numbers = await Promise.all(
        ids.map(async (id) => {
          const answer = await fetch(`http://${listen}/e2b/sandboxes/${id}`, { headers });
          return ((await answer.json()) as { readonly metadata: { readonly number: string } }).metadata.number;
        }),
      );
      expect(numbers.toSorted()).toEqual(ids.map((_, number) => String(number)).toSorted());
    });
  },
);
