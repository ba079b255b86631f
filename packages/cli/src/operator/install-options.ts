import type { GlobalOptions } from "../client/connect.ts";
import { parseDuration } from "../client/wait-condition.ts";
import { CommandError } from "../command-error.ts";
import type { Parts } from "./installation.ts";
import { defaultSettings, imagesIn, type OperatorSettings } from "./settings.ts";

/** The options of `install` and `upgrade`. */
export interface InstallOptions extends GlobalOptions {
  readonly registry?: string;
  readonly image?: string;
  readonly runtimeImage?: string;
  readonly pullPolicy: string;
  readonly replicas: string;
  readonly clusterDomain: string;
  readonly core?: boolean;
  readonly router: boolean;
  readonly runtime: boolean;
  readonly dryRun?: boolean;
  readonly wait: boolean;
  readonly timeout: string;
}

export interface InstallPlan {
  readonly settings: OperatorSettings;
  readonly parts: Parts;
  readonly timeoutMs: number;
}

const label = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const domain = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$/;
/** Registry, path, tag and digest, as container runtimes accept them. */
const image =
  /^[a-z0-9][a-z0-9.-]*(:\d{1,5})?(\/[a-z0-9]+([._-]+[a-z0-9]+)*)*(:[\w][\w.-]{0,127})?(@sha256:[a-f0-9]{64})?$/;
const policies = ["Always", "IfNotPresent", "Never"] as const;

/** Checks the options. Throws a CommandError that names the wrong one. */
export function planFrom(options: InstallOptions): InstallPlan {
  const namespace = matching(label, options.namespace ?? defaultSettings.namespace, "--namespace", "a namespace");
  const registry = options.registry && matching(image, options.registry, "--registry", "the address of a registry");
  const images = registry ? imagesIn(registry) : imagesIn();
  const pullPolicy = policies.find((policy) => policy === options.pullPolicy);
  if (pullPolicy === undefined) throw invalid("--pull-policy", options.pullPolicy, policies.join(", "));
  if (!/^[1-9]$/.test(options.replicas)) throw invalid("--replicas", options.replicas, "a number from 1 to 9");
  const settings = {
    namespace,
    image: matching(image, options.image ?? images.image, "--image", "an image"),
    runtimeImage: matching(image, options.runtimeImage ?? images.runtimeImage, "--runtime-image", "an image"),
    pullPolicy,
    replicas: Number(options.replicas),
    extensions: options.core !== true,
    clusterDomain: matching(domain, options.clusterDomain, "--cluster-domain", "a DNS name"),
  };
  const parts = { router: options.router, runtime: options.runtime };
  return { settings, parts, timeoutMs: parseDuration(options.timeout) };
}

function matching(pattern: RegExp, text: string, option: string, wanted: string): string {
  if (text.length > 400 || !pattern.test(text)) throw invalid(option, text, wanted);
  return text;
}

function invalid(option: string, text: string, wanted: string): CommandError {
  return new CommandError(`Cannot use ${option} "${text.slice(0, 80)}": want ${wanted}`, { exitCode: 2 });
}
