import { globSync } from "node:fs";
import { dirname, join } from "node:path";
import { pythonWith } from "../clients/python-suite.ts";
import { runCommand } from "../clients/run-command.ts";
import { demand, Unavailable } from "../clients/unavailable.ts";

const packages = join(import.meta.dirname, "notebook-packages.txt");

export interface Notebook {
  /** A folder that the box must allow as a host path. */
  readonly folder: string;
  /** A SandboxTemplate for the name that clients of the code interpreter use by default. */
  readonly template: object;
}

/** Packages that code interpreters usually have, in a sandbox that has the programs of this machine. */
export async function notebookIn(namespace: string, signal?: AbortSignal): Promise<Notebook> {
  const python = await pythonWith("compat-notebook", packages, signal);
  const print = ["-c", "import sys; print(sys.version_info[:2])"];
  const [outside, inside] = await Promise.all(
    [python, "/usr/bin/python3"].map(async (program) => demand("run Python", await runCommand(program, print))),
  );
  // Compiled packages work with one version only.
  if (outside !== inside) throw new Unavailable("python3 on the PATH is not the version of /usr/bin/python3");
  const [folder = ""] = globSync(join(dirname(python), "../lib/python3*/site-packages"));
  const env = [
    { name: "SANDBOXD_ROOT_DIR", value: "/" },
    { name: "SANDBOXD_ENSURE_USER", value: "user" },
    { name: "PYTHONPATH", value: "/opt/notebook" },
  ];
  const volumeMounts = [{ name: "packages", mountPath: "/opt/notebook", readOnly: true }];
  const container = { name: "main", image: "host", env, volumeMounts };
  const volumes = [{ name: "packages", hostPath: { path: folder } }];
  const template = {
    apiVersion: "extensions.agents.x-k8s.io/v1beta1",
    kind: "SandboxTemplate",
    metadata: { name: "code-interpreter-v1", namespace },
    spec: { runtime: "Injected", podTemplate: { spec: { containers: [container], volumes } } },
  };
  return { folder, template };
}
