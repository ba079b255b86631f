/** An image reference, with docker's defaults for the parts that were omitted. */
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

/** Parses an image reference by docker's rules: `debian` is `docker.io/library/debian:latest`. */
export function parseReference(text: string): { reference: Reference } | { error: string } {
  const [name = "", digest, ...more] = text.split("@");
  const fail = (why: string): { error: string } => ({ error: `Invalid image reference "${text}": ${why}` });
  if (more.length > 0 || (digest !== undefined && !digestName.test(digest))) {
    return fail('the digest must be "sha256:" followed by 64 hexadecimal digits');
  }
  const colon = name.indexOf(":", name.lastIndexOf("/") + 1);
  const [path, tag] = colon < 0 ? [name, undefined] : [name.slice(0, colon), name.slice(colon + 1)];
  if (tag !== undefined && !tagName.test(tag)) return fail(`invalid tag "${tag}"`);
  const { registry, repository } = splitRegistry(path);
  if (!registryName.test(registry)) return fail(`invalid registry "${registry}"`);
  if (!repository.split("/").every((one) => part.test(one))) {
    return fail('the parts of a repository name must be lower-case letters and digits, separated by ".", "_" or "-"');
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

/** The first part is a registry if it looks like a host: it contains a dot or a port, or is `localhost`. */
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

/** The canonical form of a reference. A tag is dropped if there is a digest. */
export function canonicalName(reference: Reference): string {
  const { tag, digest } = reference;
  return `${repositoryOf(reference)}${digest === undefined ? `:${tag}` : `@${digest}`}`;
}
