import { spawnSync } from "node:child_process";
import { whyNoBox } from "../e2e/box.ts";

/** Why the suite's box cannot run here, or undefined. */
export function whyNoWorld(): string | undefined {
  const missing = ["nft", "nsenter", "setpriv", "unshare", "python3"].filter(
    (tool) => spawnSync("which", [tool]).status !== 0,
  );
  return missing.length > 0 ? `needs ${missing.join(", ")} on the PATH` : whyNoBox();
}

const reason = whyNoWorld();
if (reason !== undefined) console.warn(`skipped: the security suite ${reason}`);

/** For `describe.skipIf`. */
export const noWorld: boolean = reason !== undefined;
