import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { boxPaths } from "../../packages/cli/src/box/box-paths.ts";
import { forgetRunningBox, recordRunningBox } from "../../packages/cli/src/box/running-box.ts";
import { buildCommandLine, execute, type Outcome, whyNoBox } from "./box.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: ${reason}`);

/** `/etc` and `/run` of a machine of its own, so that nothing reaches the real ones. */
const machine = `
set -eu
mount -t tmpfs tmpfs /run
mkdir -p /run/etc/upper /run/etc/work
mount -t overlay -o lowerdir=/etc,upperdir=/run/etc/upper,workdir=/run/etc/work overlay /etc
mkdir -p /etc/systemd/system
rm -f /etc/systemd/system/agent-sandbox.service
`;
const withSystemd = "mkdir -p /run/systemd/system\n";
const unit = "/etc/systemd/system/agent-sandbox.service";
const showUnit = `if [ -e ${unit} ]; then cat ${unit}; else echo no unit; fi\n`;

/** Records how it is called. The service is never active, and starting it fails if there is a file \`broken\`. */
const systemctl = `#!/bin/sh
echo "$@" >> "$FOLDER/calls"
case $1 in
  is-active) exit 3 ;;
  enable) [ ! -e "$FOLDER/broken" ] || { echo "Failed to enable unit: no space" >&2; exit 1; } ;;
esac
`;

describe.skipIf(reason !== undefined)("the service of systemd", () => {
  let folder: string;
  let agentSandbox: string;

  beforeAll(() => {
    buildCommandLine();
    folder = mkdtempSync(join(tmpdir(), "agent-sandbox-service-"));
    writeFileSync(join(folder, "systemctl"), systemctl, { mode: 0o755 });
    agentSandbox = `dist/agent-sandbox --data-dir ${folder}/data`;
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const inMachine = (script: string): Promise<Outcome> => {
    rmSync(join(folder, "calls"), { force: true });
    const setUp = `export FOLDER=${folder} PATH=${folder}:$PATH\n${machine}${script}`;
    return execute("unshare", ["--mount", "--propagation", "private", "sh", "-c", setUp], "");
  };

  test("is installed, enabled and started, and removed again", async () => {
    const { code, stdout, stderr } = await inMachine(
      `${withSystemd}${agentSandbox} service install\n${showUnit}${agentSandbox} service uninstall\n${showUnit}cat ${folder}/calls\n`,
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const printed = await execute("dist/agent-sandbox", ["--data-dir", `${folder}/data`, "service", "print"], "");
    expect(printed.stdout).toContain(`--data-dir ${folder}/data up --foreground`);
    expect(stdout).toContain(`Installed ${unit}.`);
    expect(stdout).toContain(printed.stdout);
    const calls = ["daemon-reload", "enable --now agent-sandbox", "disable --now agent-sandbox", "daemon-reload"];
    expect(stdout).toMatch(new RegExp(`the sandboxes keep running\nno unit\n${calls.join("\n")}\n$`));
  });

  test("leaves no unit behind if systemd cannot start it", async () => {
    writeFileSync(join(folder, "broken"), "");
    const { code, stdout, stderr } = await inMachine(
      `${withSystemd}${agentSandbox} service install || echo "status $?"\n${showUnit}cat ${folder}/calls\n`,
    );
    rmSync(join(folder, "broken"));
    const calls = ["daemon-reload", "enable --now agent-sandbox", "disable --now agent-sandbox", "daemon-reload"];
    expect({ code, stdout }).toEqual({ code: 0, stdout: `status 1\nno unit\n${calls.join("\n")}\n` });
    expect(stderr).toBe('error: Cannot run "systemctl enable --now agent-sandbox": Failed to enable unit: no space\n');
  });

  test.for([
    ["service install", "", "systemd does not run on this machine"],
    ["service uninstall", "", "systemd does not run on this machine"],
    ["service uninstall", withSystemd, "it is not installed"],
  ] as const)("%s is refused: %s%s", async ([words, setUp, says]) => {
    const { code, stdout, stderr } = await inMachine(`${setUp}${agentSandbox} ${words}`);
    expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: "", stderr: expect.stringContaining(says) });
    expect(stderr.trim().split("\n")).toHaveLength(1);
  });

  test("is not installed beside a box that runs", async () => {
    const paths = boxPaths(join(folder, "data"));
    mkdirSync(paths.dataDir, { mode: 0o700 });
    recordRunningBox(paths, { url: "", routerUrl: "" });
    const { code, stderr } = await inMachine(`${withSystemd}${agentSandbox} service install`);
    forgetRunningBox(paths);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining('stop it first with "agent-sandbox down"'),
    });
  });
});
