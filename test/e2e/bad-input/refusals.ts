/** A command that must fail: one line that says what to do, and the documented exit status. */
export interface Refusal {
  readonly words: readonly string[];
  /** A part of the line. */
  readonly says: string;
  /** Default: 1. */
  readonly code?: number;
}

const missing = (kind: string, name: string, list: string): string =>
  `${kind} "${name}" not found in namespace "default"; list ${kind === "pool" ? "the pools" : "them"} with: agent-sandbox ${list}`;
const noSandbox = missing("sandbox", "none", "get sandboxes");
const noPool = missing("pool", "none", "pool status");

const noObject = (shown: string, list: string): string => `${shown} not found; list them with: agent-sandbox ${list}`;
const noType =
  'the server doesn\'t have a resource type "nonsense": write sandboxes, sandboxclaims, sandboxtemplates, sandboxwarmpools, sandboxsnapshots, pods or another type';
const unknownRegistry = 'at "registry.invalid"; the operator finds the reason with "agent-sandbox image pull"';
const nameOfImage = '"UPPER": the parts of a repository name must be lower-case letters and digits';

const line = (words: string): readonly string[] => words.split(" ");

/** Names that do not exist. `work` is a sandbox that runs. */
export const unknownNames: readonly Refusal[] = [
  ...[
    "exec none -- true",
    "open none",
    "cp none:/x /tmp/x",
    "cp /etc/hostname none:/x",
    "describe none",
    "events none",
    "top none",
    "logs none",
    "port-forward none 80",
    "restart none",
    "suspend none",
    "resume none",
    "fork none copy",
    "snapshot create none",
  ].map((words) => ({ words: line(words), says: noSandbox })),
  { words: line("pool status none"), says: noPool },
  { words: line("pool scale none 1"), says: noPool },
  { words: line("claim none"), says: "list them with: agent-sandbox template ls" },
  { words: line("get sandboxes none"), says: "list them with: agent-sandbox get sandboxes" },
  { words: line("get secrets none"), says: '"none" not found; list them with: agent-sandbox get secrets' },
  { words: line("get nonsense"), says: noType },
  { words: line("delete sandbox/none"), says: noObject("sandbox.agents.x-k8s.io/none", "get sandboxes") },
  {
    words: line("delete sandbox/none secret/none"),
    says: noObject("sandbox.agents.x-k8s.io/none, secret/none", "get sandboxes,secrets"),
  },
  { words: line("-n kube-public delete sandbox/none"), says: "agent-sandbox get sandboxes -n kube-public" },
  { words: line("delete nonsense/none"), says: noType },
  {
    words: line("wait sandbox/none --for=condition=Ready"),
    says: noObject("sandbox.agents.x-k8s.io/none", "get sandboxes"),
  },
  { words: line("wait nonsense/none --for=condition=Ready"), says: noType },
  {
    words: line("snapshot delete none"),
    says: noObject("sandboxsnapshot.snapshots.agents.x-k8s.io/none", "snapshot ls"),
  },
  { words: line("snapshot export none -o /dev/null"), says: noObject('"none"', "get sandboxsnapshots") },
  { words: line("snapshot restore work none"), says: noObject('"none"', "get sandboxsnapshots") },
  {
    words: line("fork work copy --snapshot none --timeout 2s"),
    says: 'SandboxSnapshot "none" does not exist in this namespace',
  },
  { words: line("token create default/none"), says: noObject('"none"', "get serviceaccounts") },
  {
    words: line("image rm none"),
    says: 'Cannot remove image "none": not found; list images with: agent-sandbox image ls',
  },
  ...["logs work -c none", "exec -c none work -- true"].map((words) => ({
    words: line(words),
    says: "container none is not valid for pod work; agent-sandbox describe SANDBOX shows its containers",
  })),
  { words: line("exec work -- no-such-program"), says: "no-such-program", code: 127 },
  { words: line("exec work -- /etc/passwd"), says: "permission denied", code: 126 },
  { words: line("run --rm -- no-such-program"), says: "no-such-program", code: 127 },
  { words: line("-n none create x"), says: noObject('namespaces "none"', "get namespaces") },
  { words: line("-n none run --rm -- true"), says: noObject('namespaces "none"', "get namespaces") },
  { words: line("get sandboxes --context none"), says: 'there is no context "none", there are "agent-sandbox"' },
  { words: line("get sandboxes --kubeconfig /none"), says: 'there is no "/none"' },
  { words: line("apply -f /none"), says: '"/none": no such file or directory' },
  { words: line("image load /none"), says: 'Cannot read archive "/none": no such file' },
  { words: line("image pull x --authfile /none"), says: 'registry credentials from "/none"' },
  { words: line("snapshot import /none"), says: 'Cannot read "/none"' },
  { words: line("restore /none"), says: 'Cannot read backup "/none": no such file or directory' },
  { words: line("backup /none/backup"), says: "no such file or directory" },
  { words: line("cp /none work:/root/"), says: '"/none": no such file or directory' },
  { words: line("cp work:/none /tmp/"), says: "Cannot copy: tar: none" },
];

/** Values that cannot be read, and images that cannot be used. */
export const badValues: readonly Refusal[] = [
  { words: line("shell work"), says: 'needs a terminal: use "agent-sandbox exec work -- COMMAND" in scripts' },
  { words: line("run"), says: 'name a command, as in "agent-sandbox run -- python3 -V"' },
  { words: line("run --image registry.invalid/x:1 --rm -- true"), says: unknownRegistry },
  { words: line("run --image UPPER --rm -- true"), says: nameOfImage },
  { words: line("create x --image registry.invalid/x:1"), says: unknownRegistry },
  { words: line("image pull registry.invalid/x:1"), says: '"registry.invalid" is unknown: check the name' },
  { words: line("image pull localhost:1/x"), says: "nothing listens at the registry" },
  { words: line("image pull UPPER"), says: nameOfImage },
  { words: line("image load /etc/hostname"), says: 'is what "docker save IMAGE" writes' },
  { words: line("run --runtime kata --rm -- true"), says: "list the runtimes with: agent-sandbox get runtimeclasses" },
  { words: line("run --memory lots --rm -- true"), says: "write a quantity, such as 500m or 512Mi" },
  { words: line("run --cpus -1 --rm -- true"), says: "must be greater than or equal to 0" },
  { words: line("run -v /etc:/x --rm -- true"), says: "restart the box with --allow-host-path /etc" },
  { words: line("run -e NOT_SET_HERE --rm -- true"), says: "it is not set here" },
  { words: line("run -p http --rm -- true"), says: "write PORT, or LOCAL:PORT" },
  { words: line("run --timeout soon --rm -- true"), says: "write it as 30s, 5m or 1h30m" },
  { words: line("run --name work -- true"), says: 'choose another --name, or run commands in it with "exec"' },
  { words: line("create work"), says: "already exists: choose another --name" },
  { words: line("create UPPER"), says: "must consist of lower case alphanumeric characters" },
  { words: line("create x -p 8080:80"), says: 'use "port-forward"' },
  { words: line("claim warm --rm"), says: "name one after --, or use -it for a shell" },
  { words: line("pool scale warm many"), says: "write a whole number from 0 to 10000" },
  { words: line("suspend work --depth Everything"), says: "write Volumes, Filesystem, Memory" },
  { words: line("snapshot create work --depth Volumes"), says: "Filesystem or Memory" },
  { words: line("snapshot create work UPPER"), says: "must consist of lower case alphanumeric characters" },
  { words: line("fork work work"), says: "choose another name for the fork" },
  { words: line("cp a b"), says: "write one side as SANDBOX:PATH" },
  { words: line("cp - work:/root"), says: "name the file" },
  { words: line("port-forward work 99999"), says: "write local:remote" },
  { words: line("open work 0"), says: 'Cannot read port "0"' },
  { words: line("logs work --tail some"), says: "must be a number of lines" },
  { words: line("get sandboxes -o table"), says: "valid formats are json, yaml, name, wide" },
  { words: line("get sandboxes -l !!"), says: "unable to parse requirement" },
  { words: line("top --sort-by age"), says: "write name, cpu, memory" },
  { words: line("delete sandboxes"), says: "add the names of the objects" },
  { words: line("wait sandbox/work --for=Ready"), says: "write condition=Type" },
  { words: line("wait work --for=delete"), says: "write type/name" },
  { words: line("token create default/default --duration x"), says: "write it as 30m or 24h" },
  { words: line("config set listen 1"), says: "write its path" },
  { words: line("config set box.listen nowhere"), says: "write address:port" },
  { words: line("config unset listen"), says: "write its path" },
  { words: line("mcp config nonsense"), says: "it can be claude-code, claude-desktop, codex, cursor" },
  { words: line("env nonsense"), says: "it can be e2b or opensandbox" },
  { words: line("completion tcsh"), says: "write bash, zsh, fish" },
  { words: line("up --listen nowhere"), says: "write address:port" },
  { words: line("image ls -o yaml"), says: "the only valid format is json" },
];

/** What a user with another kubeconfig runs. */
export const withoutPermission: readonly (readonly string[])[] = [
  "get sandboxes",
  "get sandboxes work",
  "create x",
  "run --rm",
  "exec work",
  "cp /etc/hostname work:/tmp/",
  "cp work:/etc/hostname /tmp/x",
  "suspend work",
  "resume work",
  "restart work",
  "describe work",
  "events work",
  "events",
  "top",
  "logs work",
  "delete sandbox/work",
  "delete sandboxes --all",
  "wait sandbox/work --for=condition=Ready",
  "claim warm",
  "pool status",
  "pool scale warm 1",
  "template ls",
  "snapshot create work",
  "snapshot ls",
  "snapshot delete x",
  "snapshot export x -o /dev/null",
  "snapshot restore work x",
  "fork work copy",
  "open work 80 --print",
  "port-forward work 80",
  "token create default",
  "status",
  "apply -f examples/first-sandbox.yaml",
].map(line);

/** What a user runs before the box. */
export const withoutBox: readonly (readonly string[])[] = [
  ...withoutPermission.filter(([command]) => command !== "status"),
  line("token"),
  line("dashboard --print"),
  line("mcp"),
  line("env e2b"),
  line("env opensandbox"),
  line("install"),
  line("upgrade"),
  line("uninstall"),
  line("mcp config cursor --http"),
];
