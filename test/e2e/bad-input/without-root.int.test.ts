import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildCommandLine, execute, whyNoBox } from "../box.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the test ${reason}`);

const images = "only root can manage images: run the command with sudo";
const hidden = /Cannot look for a box in ".*": permission denied; run it with sudo/;

/** What a user without root runs on a machine whose box belongs to root. */
const rows: readonly (readonly [string, string | RegExp])[] = [
  ["up", "the box needs root to create containers and networks: run the command with sudo"],
  ["down", hidden],
  ["down --purge", "permission denied; run the command with sudo"],
  ["status", hidden],
  ["get sandboxes", hidden],
  ["run --rm -- true", hidden],
  ["token", hidden],
  ["backup /tmp/backup-of-nobody", hidden],
  ["restore /etc/hostname", hidden],
  ["image ls", images],
  ["image pull registry.invalid/x", images],
  ["image load /etc/hostname", images],
  ["image rm x", images],
  ["image prune", images],
  ["config set node.defaults.pids 500", "permission denied"],
  ["service install", "only root can install a service: run the command with sudo"],
  ["service uninstall", "only root can uninstall a service: run the command with sudo"],
];

describe.skipIf(reason !== undefined)("without root", () => {
  /** As `up` makes it: for root only. */
  let dataDir: string;
  beforeAll(() => {
    buildCommandLine();
    dataDir = mkdtempSync(join(tmpdir(), "agent-sandbox-nobody-"));
  });
  afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

  test.each(rows)("%s says what to do in one line", async (line, says) => {
    const nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    const words = ["dist/agent-sandbox", "--data-dir", dataDir, ...line.split(" ")];
    const { code, stdout, stderr } = await execute("setpriv", [...nobody, ...words], "");
    expect({ code, stdout, lines: stderr.trim().split("\n").length }).toEqual({ code: 1, stdout: "", lines: 1 });
    expect(stderr).toMatch(says);
  });

  test("nothing is left behind", () => {
    expect(readdirSync(dataDir)).toEqual([]);
    expect(["/tmp/backup-of-nobody", "/tmp/backup-of-nobody.partial"].filter((path) => existsSync(path))).toEqual([]);
  });

  test("a folder that is not a box's is not purged", async () => {
    const { code, stderr } = await execute("dist/agent-sandbox", ["--data-dir", "/etc", "down", "--purge"], "");
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'error: Cannot purge "/etc": it is not the data folder of a box\n',
    });
  });
});
