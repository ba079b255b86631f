import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { kubernetesModule } from "../../packages/api/generate/kubernetes-definitions.ts";

/**
 * Rewrites go.mod and go.sum for another release of Kubernetes, by default that of the types in our CRDs.
 *
 *   node --conditions=source test/kube-apiserver/pin.ts [v1.x.y]
 *
 * Programs of `k8s.io/kubernetes` can be built outside its tree only with its `replace` lines, in which each folder is replaced by
 * the published `v0.x.y` of the library.
 */
const version = process.argv[2] ?? kubernetesModule.version;
const libraries = version.replace(/^v1\./, "v0.");

/** etcd has the version that Kubernetes requires. */
const programs = [
  "go.etcd.io/etcd/server/v3",
  "k8s.io/kubernetes/cmd/kube-apiserver",
  "k8s.io/kubernetes/cmd/kube-controller-manager",
  "k8s.io/kubernetes/cmd/kubectl",
];

interface GoMod {
  readonly Go: string;
  readonly Replace: readonly { readonly Old: { readonly Path: string }; readonly New: { readonly Path: string } }[];
}

function go(...words: string[]): string {
  return execFileSync("go", words, {
    cwd: import.meta.dirname,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
}

function block(word: string, lines: readonly string[]): string {
  return `${word} (\n${lines.map((line) => `\t${line}\n`).join("")})\n`;
}

const module = JSON.parse(go("mod", "download", "-json", `k8s.io/kubernetes@${version}`)) as { GoMod: string };
const { Go, Replace } = JSON.parse(go("mod", "edit", "-json", module.GoMod)) as GoMod;
const inTree = Replace.filter(({ New }) => New.Path.startsWith("./staging/")).map(({ Old }) => Old.Path);
writeFileSync(
  `${import.meta.dirname}/go.mod`,
  [
    "module agent-sandbox/test/kube-apiserver\n",
    `go ${Go}\n`,
    `require k8s.io/kubernetes ${version}\n`,
    block("tool", programs),
    block(
      "replace",
      inTree.map((path) => `${path} => ${path} ${libraries}`),
    ),
  ].join("\n"),
);
go("mod", "tidy");
console.log(`Pinned Kubernetes ${version}`);
