import { type Flag, type FlagKind, type FlagName, flags } from "@agent-sandbox/router";

/** The word after each kind of flag in the help text, as in `--domain TEXT`. */
const placeholders: Readonly<Record<FlagKind, string>> = {
  text: "TEXT",
  address: "ADDRESS",
  duration: "DURATION",
  positiveDuration: "DURATION",
  count: "N",
  positiveCount: "N",
  switch: "",
  list: "A,B",
  origins: "ORIGIN",
  level: "LEVEL",
};

const sections: readonly (readonly [title: string, belongs: (name: FlagName) => boolean])[] = [
  ["Addresses", (name) => name.endsWith("-bind-address")],
  ["TLS", (name) => name.startsWith("tls-") || name === "mtls-mode"],
  ["Authorisation", (name) => name.startsWith("authz-") || name === "allowed-hosts" || name === "allow-origin"],
  ["Cluster and names", (name) => /^(?:kubeconfig|cache-|domain|cluster-domain|allow-loopback)/.test(name)],
  ["Time", (name) => /-timeout$|^upstream-/.test(name)],
  ["Limits", (name) => name.startsWith("max-")],
  ["Logs and traces", () => true],
];

const column = 42;
const width = 118;

/** The help text, generated from the flag table. */
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

Run the router against a Kubernetes cluster. The router is one address for all sandboxes: it finds the sandbox that a
request names, checks that the caller is allowed to reach it, wakes it if it is suspended, and proxies the request. (The
box contains its own router.)

Settings come from, in order of precedence: the command line; the file named by --config or SANDBOX_ROUTER_CONFIG (lines
of "flag: value"); the environment; the default.`;

const ending = `Other:
  --config FILE                           Read settings from a file.
  --version                               Print the version.

Examples of DURATION: 90s, 1m30s, 200ms. Examples of ADDRESS: :8080, 127.0.0.1:8080, [::1]:8080.
Exit status: 0 after SIGTERM or SIGINT, 1 after an error, 2 if the flags are invalid.

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
