import { expect, test } from "vitest";
import { runcVulnerability } from "./runc-vulnerabilities.ts";

const of2025 = "CVE-2025-31133, CVE-2025-52565, CVE-2025-52881";
const bad = (version: string, names = of2025): string => `runc ${version} has known vulnerabilities (${names})`;

test.for([
  ["1.0.0-rc93", bad("1.0.0-rc93", `CVE-2024-21626, ${of2025}`)],
  ["1.1.5+ds1", bad("1.1.5+ds1", `CVE-2024-21626, ${of2025}`)],
  ["1.1.11", bad("1.1.11", `CVE-2024-21626, ${of2025}`)],
  ["1.1.12", bad("1.1.12")],
  ["1.1.15", bad("1.1.15")],
  ["1.2.0", bad("1.2.0")],
  ["1.2.7", bad("1.2.7")],
  ["1.2.8", undefined],
  ["1.2.10", undefined],
  ["1.3.0-rc.1", bad("1.3.0-rc.1")],
  ["1.3.2", bad("1.3.2")],
  ["1.3.3", undefined],
  ["1.4.0-rc.1", bad("1.4.0-rc.1")],
  ["1.4.0-rc.2+dev", bad("1.4.0-rc.2+dev")],
  ["1.4.0-rc.3", undefined],
  ["1.4.0", undefined],
  ["1.5.2", undefined],
  ["2.0.0", undefined],
] as const)("runc %s", ([version, expected]) => {
  expect(runcVulnerability(`runc version ${version}\ncommit: v${version}\nspec: 1.2.1\n`)).toBe(expected);
});

test("a runc with an unknown version is refused", () => {
  expect(runcVulnerability("runc version unknown\n")).toContain('its version "unknown" is unknown');
});

test("other programs are accepted", () => {
  expect(runcVulnerability("crun version 1.1.5\n")).toBeUndefined();
  expect(runcVulnerability("")).toBeUndefined();
});
