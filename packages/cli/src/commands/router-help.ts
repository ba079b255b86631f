import { type Flag, type FlagKind, type FlagName, flags } from "@agent-sandbox/router";

/** What each kind of flag takes, in a word. */
const placeholders: Readonly<Record<FlagKind, string>> = {
  text: "TEXT",
  address: "ADDRESS",
  duration: "DURATION",
  positiveDuration: "DURATION",
  count: "N",
  positiveCount: "N",
  switch: "",
  list: "A,B",
  level: "LEVEL",
};

const sections: readonly (readonly [title: string, belongs: (name: FlagName) => boolean])[] = [
  ["Addresses", (name) => name.endsWith("-bind-address")],
  ["TLS", (name) => name.startsWith("tls-") || name === "mtls-mode"],
  ["Who may", (name) => name.startsWith("authz-") || name === "allowed-hosts"],
  ["Cluster and names", (name) => /^(?:kubeconfig|cache-|domain|cluster-domain|allow-loopback)/.test(name)],
  ["Time", (name) => /-timeout$|^upstream-/.test(name)],
  ["Limits", (name) => name.startsWith("max-")],
  ["Logs and traces", () => true],
];

const column = 42;
const width = 118;

/** Every flag of the router with its meaning and default, from the table it is read by. */
export function routerHelp(): string {
  const left = new Set(Object.keys(flags) as FlagName[]);
  const parts = sections.map(([title, belongs]) => {
    const names = [...left].filter(belongs);
    for (const name of names) left.delete(name);
    return [`${title}:`, ...names.map((name) => describe(name, flags[name]))].join("\n");
  });
  return [introduction, ...parts, ending].join("\n\n");
}

const introduction = `Usage: agent-sandbox router [flags]

Run the router against a Kubernetes cluster: one address for all sandboxes. It finds the sandbox a request names, checks
that the caller may reach it, wakes it if it sleeps, and passes the request on. (The box has a router of its own.)

A setting is taken from the command line, else from the file that --config FILE or SANDBOX_ROUTER_CONFIG names (lines of
"flag: value"), else from the environment, else it has its default.`;

const ending = `Other:
  --config FILE                           Settings in a file.
  --version                               Print the version.

DURATION is 90s, 1m30s or 200ms; ADDRESS is :8080, 127.0.0.1:8080 or [::1]:8080. It ends with 0 after SIGTERM or SIGINT,
with 1 when it failed, and with 2 when it was told nonsense.

Examples:
  agent-sandbox router --kubeconfig ~/.kube/config --domain sandboxes.example.com
  agent-sandbox router --https-bind-address :8443 --tls-cert-file tls.crt --tls-key-file tls.key`;

function describe(name: FlagName, { kind, fallback, env, values, help }: Flag): string {
  const head = `  --${name} ${placeholders[kind]}`.trimEnd();
  const notes = [
    values === undefined ? "" : `One of ${values.join(", ")}.`,
    env === undefined ? "" : `Environment: ${env}.`,
    fallback === "" ? "" : `(default ${fallback})`,
  ];
  const lines = wrap([help, ...notes].filter((note) => note !== "").join(" "), width - column);
  const first =
    head.length < column ? [`${head.padEnd(column)}${lines[0]}`] : [head, `${" ".repeat(column)}${lines[0]}`];
  return [...first, ...lines.slice(1).map((line) => `${" ".repeat(column)}${line}`)].join("\n");
}

function wrap(text: string, most: number): string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines.at(-1) ?? "";
    if (last !== "" && last.length + 1 + word.length > most) lines.push(word);
    else lines[lines.length - 1] = last === "" ? word : `${last} ${word}`;
  }
  return lines;
}
