import type { Reference } from "./reference.ts";

/** Each problem of a pull: how skopeo or our proxy reports it, and what the user is told. */
interface Problem {
  readonly said: RegExp;
  readonly sentence: (place: Place) => string;
}

interface Place {
  /** The registry in the image's name. */
  readonly registry: string;
  /** The part of the image's name after the registry. */
  readonly image: string;
  /** What the registry or the library reported. */
  readonly detail: string;
}

const insecure = (registry: string): string =>
  `add {"name": "${registry}", "insecure": true} to "node.images.registries" in config.json (no restart is needed)`;
const loginAdvice = "use imagePullSecrets, or agent-sandbox image pull --authfile FILE";

/** The first that matches is used. */
const problems: readonly Problem[] = [
  {
    said: /manifest unknown|manifest invalid|blob unknown/i,
    sentence: ({ registry, image }) => `the registry "${registry}" has no image "${image}": check the name and the tag`,
  },
  {
    said: /name unknown|repository name not known/i,
    sentence: ({ registry, image }) => `the registry "${registry}" has no repository for "${image}": check the name`,
  },
  {
    // Docker Hub answers in this way for repositories that do not exist.
    said: /requested access to the resource is denied/i,
    sentence: ({ registry, image }) =>
      `the registry "${registry}" does not show "${image}": it does not exist, or it needs a login (${loginAdvice})`,
  },
  {
    said: /\bunauthorized\b|authentication required|\bdenied\b|invalid username\/password/i,
    sentence: ({ registry }) =>
      `the registry "${registry}" needs a login, or refuses the one it got (unauthorized): ${loginAdvice}`,
  },
  {
    said: /too ?many ?requests/i,
    sentence: ({ registry }) => `the registry "${registry}" refuses further pulls for now (too many requests)`,
  },
  {
    said: /server gave HTTP response to HTTPS client|first record does not look like a TLS handshake/i,
    sentence: ({ registry }) =>
      `the registry "${registry}" does not use TLS: if you trust the network, ${insecure(registry)}`,
  },
  {
    said: /\bx509:|certificate/i,
    sentence: ({ registry, detail }) =>
      `the certificate of the registry "${registry}" is not trusted (${detail}): install its authority on this machine, or ${insecure(registry)}`,
  },
  {
    said: /\btls:/i,
    sentence: ({ registry, detail }) => `there is no TLS connection to the registry "${registry}" (${detail})`,
  },
  {
    said: /no such host|ENOTFOUND|EAI_AGAIN|server misbehaving/i,
    sentence: ({ registry }) =>
      `the host of the registry "${registry}" is unknown: check the name and the DNS of this machine`,
  },
  {
    said: /connection refused|ECONNREFUSED/i,
    sentence: ({ registry }) => `nothing listens at the registry "${registry}" (connection refused): check the port`,
  },
  {
    said: /i\/o timeout|ETIMEDOUT|deadline exceeded|TimeoutError|aborted due to timeout/i,
    sentence: ({ registry }) =>
      `the registry "${registry}" does not answer: check the address and the network of this machine`,
  },
  {
    said: /no route to host|network is unreachable|EHOSTUNREACH|ENETUNREACH/i,
    sentence: ({ registry }) => `this machine has no route to the registry "${registry}"`,
  },
  {
    said: /\bEOF\b|connection reset|ECONNRESET|socket hang up/i,
    sentence: ({ registry }) => `the registry "${registry}" closes the connection: check that it runs at this address`,
  },
  {
    said: /invalid status code from registry|StatusCode: \d+/i,
    sentence: ({ registry, detail }) => `the server at "${registry}" is not a registry (${detail})`,
  },
];

const longestDetail = 200;

/** One sentence about a failed pull, from the output of skopeo. A message that is not known loses only skopeo's preamble. */
export function explainPull(said: string, { registry, repository, tag, digest }: Reference): string {
  const image = digest === undefined ? `${repository}:${tag ?? "latest"}` : `${repository}@${digest}`;
  // skopeo reports every failure to open an image as an error of its name.
  const plain = said.replace(/^Error parsing image name "[^"]*": /, "").replace(/^initializing source \S+: /, "");
  const found = problems.find((problem) => problem.said.test(plain));
  return found?.sentence({ registry, image, detail: detailOf(plain) }) ?? plain;
}

/** The text after the URL of the request, which is the innermost error. */
function detailOf(plain: string): string {
  const [, inner = plain] =
    /^.*?: Get "[^"]*": (.*)$/s.exec(plain) ?? /^pinging container registry \S+: (.*)$/s.exec(plain) ?? [];
  return inner.slice(0, longestDetail);
}
