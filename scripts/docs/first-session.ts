import { join } from "node:path";
import { root } from "./pages.ts";

/** What the picture in the README shows. `make picture` runs it on a real box. */
export const session: readonly string[] = [
  "agent-sandbox run --rm -- python3 -c 'print(6 * 7)'",
  "agent-sandbox apply -f examples/web-sandbox.yaml",
  "agent-sandbox wait sandbox/web --for=condition=Ready",
  "agent-sandbox exec web -- uname -sr",
  "agent-sandbox suspend web",
  "agent-sandbox resume web",
  "agent-sandbox fork web web-2 web-3",
  "agent-sandbox get sandboxes -o wide",
];

export const pictureFile: string = join(root, "docs/pictures/first-session.svg");
