import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";

/** As a Pod with a user namespace does it: a bind mount without `ip`. Then another program uses `ip`. Prints what is left. */
const steps = `
  const { execFileSync } = await import("node:child_process");
  const { mkdirSync, readdirSync, writeFileSync } = await import("node:fs");
  const sh = (command) => execFileSync("sh", ["-c", command]);
  if (process.argv[1] === "shared") (await import("${import.meta.dirname}/namespace-folder.ts")).shareNamespaceFolder();
  mkdirSync("/run/netns", { recursive: true });
  writeFileSync("/run/netns/pod", "");
  sh("unshare --net mount --bind /proc/self/ns/net /run/netns/pod || exit 1");
  sh("ip netns add other");
  sh("ip netns del other; ip netns del pod || true");
  console.log(readdirSync("/run/netns").join(" "));
`;

/** Runs the steps with an empty /run of its own. */
function leftOf(kind: "shared" | "plain"): string {
  const command = 'mount -t tmpfs none /run && exec node --conditions=source --input-type=module -e "$0" "$1"';
  return execFileSync("unshare", ["--mount", "sh", "-c", command, steps, kind], { stdio: ["ignore", "pipe", "pipe"] })
    .toString("utf8")
    .trim();
}

test("namespaces that were bound before the machine's first `ip netns add` can be removed", () => {
  expect([leftOf("plain"), leftOf("shared")]).toEqual(["pod", ""]);
});
