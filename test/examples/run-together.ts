import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Step, scriptOf } from "../docs/page-script.ts";
import { linkRepository, type Run, readRun, runWorld } from "../docs/run-page.ts";

export interface NamedSteps {
  readonly name: string;
  readonly steps: readonly Step[];
}

export interface SharedRun {
  /** By name. */
  readonly runs: ReadonlyMap<string, Run>;
  readonly seconds: ReadonlyMap<string, number>;
  /** How long the images took. */
  readonly loadSeconds: number;
  /** Objects that exist after all pages have run. */
  readonly left: string;
}

const atOnce = 3;

/** Kinds that the pages create. */
const kinds =
  "sandboxes,sandboxclaims,sandboxwarmpools,sandboxtemplates,pods,services,networkpolicies,persistentvolumeclaims,secrets";

/**
 * Runs pages on one machine with one box, which has the images of the archives: unpacking them for each page would take most of the
 * time. Each page has a folder of its own. Pages that restart the box run before the others, one at a time.
 */
export async function runTogether(pages: readonly NamedSteps[], archives: readonly string[]): Promise<SharedRun> {
  const scratch = mkdtempSync(join(tmpdir(), "agent-sandbox-examples-"));
  const folderOf = ({ name }: NamedSteps): string => join(scratch, name.replaceAll("/", "_"));
  try {
    for (const page of pages) {
      const folder = folderOf(page);
      mkdirSync(join(folder, "outputs"), { recursive: true });
      linkRepository(join(folder, "work"));
      writeFileSync(join(folder, "page.sh"), scriptOf(page.steps, join(folder, "outputs")));
    }
    const restarts = ({ steps }: NamedSteps): boolean => steps.some(({ commands }) => commands.includes("sandbox up"));
    const alone = pages.filter(restarts).map(folderOf);
    const together = pages.filter((page) => !restarts(page)).map(folderOf);
    const script = join(scratch, "all.sh");
    writeFileSync(script, scriptOfAll({ archives, alone, together, scratch }));
    const messages = await runWorld(scratch, script);
    const dataDir = join(scratch, "data");
    const runs = pages.map((page): [string, Run] => [
      page.name,
      readRun(page.steps, { outputs: join(folderOf(page), "outputs"), dataDir, messages }),
    ]);
    const seconds = pages.map((page): [string, number] => [
      page.name,
      Number(readFileSync(join(folderOf(page), "seconds"), "utf8")),
    ]);
    return {
      runs: new Map(runs),
      seconds: new Map(seconds),
      loadSeconds: Number(readFileSync(join(scratch, "loaded"), "utf8")),
      left: readFileSync(join(scratch, "left"), "utf8"),
    };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

interface Parts {
  readonly archives: readonly string[];
  readonly alone: readonly string[];
  readonly together: readonly string[];
  readonly scratch: string;
}

const scriptOfAll = ({ archives, alone, together, scratch }: Parts): string => `set -eu
export KUBECONFIG=/var/lib/agent-sandbox/kubeconfig
for archive in ${archives.join(" ")}; do agent-sandbox image load "$archive"; done
echo $SECONDS >${scratch}/loaded
cat >one.sh <<'END'
cd "$1/work"
start=$SECONDS
timeout 180 bash ../page.sh </dev/null || true
echo $((SECONDS - start)) >../seconds
END
for page in ${alone.join(" ")}; do bash one.sh "$page"; done
printf '%s\\n' ${together.join(" ")} | xargs --max-procs ${atOnce} -I PAGE bash one.sh PAGE
names() { kubectl get ${kinds} --output name; }
# Objects are deleted in the background.
for attempt in $(seq 60); do [ -n "$(names)" ] || break; sleep 0.5; done
names >${scratch}/left
`;
