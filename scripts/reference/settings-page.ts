import { flagTable } from "@agent-sandbox/controllers";
import { flags } from "@agent-sandbox/router";
import { markdownTable } from "./markdown-table.ts";
import { type Setting, settingsOf } from "./settings-fields.ts";

/** The fields of `config.json`, and the flags of the processes that run in a cluster. */
export function settingsPage(): string {
  return `## config.json of the box

The file \`config.json\` in the data folder (\`/var/lib/agent-sandbox\`) is read when the box starts. Unknown fields and impossible
values are refused. Flags of \`agent-sandbox up\` win over the file.

${configTable()}

## Flags of the manager

\`agent-sandbox manager\` has the flags of the reference implementation, and some of its own.

${managerTable()}

## Flags of the router

\`agent-sandbox router\`. Each flag can also be set in the file of \`--config\` or in the environment.

${routerTable()}`;
}

const roots: readonly (readonly [part: string, file: string, type: string])[] = [
  ["box", "packages/cli/src/box/box-settings.ts", "BoxSettings"],
  ["node", "packages/node/src/settings.ts", "NodeSettings"],
  ["apiServer", "packages/cli/src/box/api-settings.ts", "ApiSettings"],
];

function configTable(): string {
  const rows = roots.flatMap(([part, file, type]) =>
    settingsOf(file, type).map(({ path, type: kind, about }: Setting) => [`\`${part}.${path}\``, code(kind), about]),
  );
  return markdownTable(["field", "type", "meaning"], rows);
}

const code = (text: string): string => (text === "" ? "" : `\`${text}\``);

function managerTable(): string {
  const rows = Object.entries(flagTable).map(([name, { kind, initial, about }]) => {
    const shown = kind === "duration" ? `${Number(initial) / 1000}s` : String(initial);
    return [`\`--${name}\``, code(shown), about];
  });
  return markdownTable(["flag", "default", "meaning"], rows);
}

function routerTable(): string {
  const rows = Object.entries(flags).map(([name, { fallback, env, help }]) => [
    `\`--${name}\``,
    code(fallback),
    code(env ?? ""),
    help,
  ]);
  return markdownTable(["flag", "default", "environment", "meaning"], rows);
}
