/** An image's name, complete: where docker's rules let people leave out a part, it is filled in. */
export interface Reference {
  /** `docker.io`, `localhost:5000`. */
  readonly registry: string;
  /** `library/debian`. */
  readonly repository: string;
  /** Absent when only a digest was given. */
  readonly tag?: string;
  readonly digest?: string;
}

const defaultRegistry = "docker.io";
const oneWordRepositories = "library/";
const longestName = 255;

const part = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
const registryName =
  /^(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*|\[[a-fA-F0-9:]+\])(?::\d{1,5})?$/;
const tagName = /^\w[\w.-]{0,127}$/;
const digestName = /^sha256:[0-9a-f]{64}$/;

/** Reads a name as docker does: `debian` is `docker.io/library/debian:latest`. Says what is wrong with any other. */
export function parseReference(text: string): { reference: Reference } | { error: string } {
  const [name = "", digest, ...more] = text.split("@");
  const fail = (why: string): { error: string } => ({ error: `"${text}" is no image's name: ${why}` });
  if (more.length > 0 || (digest !== undefined && !digestName.test(digest))) {
    return fail("after @ comes sha256: and 64 hexadecimal digits");
  }
  const colon = name.indexOf(":", name.lastIndexOf("/") + 1);
  const [path, tag] = colon < 0 ? [name, undefined] : [name.slice(0, colon), name.slice(colon + 1)];
  if (tag !== undefined && !tagName.test(tag)) return fail(`"${tag}" is no tag`);
  const { registry, repository } = splitRegistry(path);
  if (!registryName.test(registry)) return fail(`"${registry}" is no registry`);
  if (!repository.split("/").every((one) => part.test(one))) {
    return fail("the parts of a repository's name are lower-case letters and digits, joined by one of . _ -");
  }
  if (registry.length + repository.length + 1 > longestName) return fail(`it has more than ${longestName} characters`);
  const named = tag ?? (digest === undefined ? "latest" : undefined);
  return {
    reference: {
      registry,
      repository,
      ...(named !== undefined && { tag: named }),
      ...(digest !== undefined && { digest }),
    },
  };
}

/** The first part is a registry when it looks like a host: with a dot, a port, or as `localhost`. */
function splitRegistry(path: string): { registry: string; repository: string } {
  const slash = path.indexOf("/");
  const first = slash < 0 ? "" : path.slice(0, slash);
  if (/[.:[]/.test(first) || first === "localhost") {
    const registry = first === "index.docker.io" ? defaultRegistry : first;
    return { registry, repository: within(registry, path.slice(slash + 1)) };
  }
  return { registry: defaultRegistry, repository: within(defaultRegistry, path) };
}

function within(registry: string, repository: string): string {
  return registry === defaultRegistry && !repository.includes("/") ? `${oneWordRepositories}${repository}` : repository;
}

/** The repository with its registry: `docker.io/library/debian`. */
export function repositoryOf({ registry, repository }: Reference): string {
  return `${registry}/${repository}`;
}

/** One name for what may be written in many ways. A digest says more than a tag, and is all that counts. */
export function canonicalName(reference: Reference): string {
  const { tag, digest } = reference;
  return `${repositoryOf(reference)}${digest === undefined ? `:${tag}` : `@${digest}`}`;
}
