import {
  createdByLabel,
  findCondition,
  launchTypeLabel,
  normaliseCreatedBy,
  type Sandbox,
  sandboxTemplateRefAnnotation,
} from "@agent-sandbox/api";
import { controllerOf, type Transport } from "@agent-sandbox/kube";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { ClaimMetrics } from "../claim/metrics.ts";
import type { ControllersMetrics } from "../start-controllers.ts";
import { RunnerGauges } from "./runner-gauges.ts";

export interface BuildInfo {
  readonly version: string;
  readonly commit: string;
  readonly date: string;
}

/** Claims served from a pool take milliseconds, so these buckets precede those of the reference, which start at 100 ms. */
const fine = [1, 2, 5, 10, 25, 50];
const startupBuckets = fine.concat(
  [100, 250, 500, 750, 1000, 1250, 1500, 2000, 2500, 5000],
  [10_000, 30_000, 60_000, 120_000, 240_000],
);
const creationBuckets = fine.concat(
  [100, 250, 500, 1000, 2500, 5000],
  [10_000, 30_000, 60_000, 120_000, 240_000, 300_000, 600_000],
);

/** The metrics of the manager, with the names of the reference implementation. */
export class ManagerMetrics {
  readonly registry: Registry = new Registry();
  readonly #runners: RunnerGauges = new RunnerGauges(this.registry);
  readonly #claims: ClaimMetrics;
  readonly #leading: Gauge<"name">;
  readonly #requests: Counter<"code" | "method">;
  #sandboxes: () => Iterable<Sandbox> = () => [];

  constructor(build: BuildInfo) {
    const registers = [this.registry];
    this.#claims = claimMetrics(registers);
    this.#leading = new Gauge({
      name: "leader_election_master_status",
      help: "1 while this process holds the lease, else 0",
      labelNames: ["name"],
      registers,
    });
    this.#requests = new Counter({
      name: "rest_client_requests_total",
      help: "Requests to the API server by status code; <error> without a response",
      labelNames: ["code", "method"],
      registers,
    });
    buildInfo(build, registers);
    this.registry.registerMetric(this.#countSandboxes());
  }

  /** The metrics of one set of controllers. Several sets are added up. */
  forControllers(): ControllersMetrics {
    return {
      sandbox: this.#runners.of("sandbox"),
      sandboxclaim: { ...this.#runners.of("sandboxclaim"), ...this.#claims },
      sandboxwarmpool: this.#runners.of("sandboxwarmpool"),
      sandboxtemplate: this.#runners.of("sandboxtemplate"),
    };
  }

  /** Sets the source of the Sandboxes that are counted at each scrape. */
  countSandboxes(sandboxes: () => Iterable<Sandbox>): void {
    this.#sandboxes = sandboxes;
  }

  setLeading(lease: string, isLeading: boolean): void {
    this.#leading.set({ name: lease }, isLeading ? 1 : 0);
  }

  counting(transport: Transport): Transport {
    const counted = async <T extends { readonly status: number }>(method: string, sent: Promise<T>): Promise<T> => {
      try {
        const response = await sent;
        this.#requests.inc({ code: String(response.status), method });
        return response;
      } catch (error) {
        this.#requests.inc({ code: "<error>", method });
        throw error;
      }
    };
    return {
      send: (request) => counted(request.method, transport.send(request)),
      stream: (request) => counted(request.method, transport.stream(request)),
      close: () => transport.close(),
    };
  }

  #countSandboxes(): Gauge {
    const current = (): Iterable<Sandbox> => this.#sandboxes();
    return new Gauge({
      name: "agent_sandboxes",
      help: "Number of Sandboxes",
      labelNames: sandboxLabels,
      registers: [],
      collect() {
        this.reset();
        for (const sandbox of current()) this.inc(labelsOf(sandbox));
      },
    });
  }
}

const sandboxLabels = [
  "namespace",
  "ready_condition",
  "expired",
  "launch_type",
  "sandbox_template",
  "owned_by",
  "created_by",
];

/** `ready_condition` is `unknown` until there is a condition. */
function labelsOf({ metadata, status }: Sandbox): Record<string, string> {
  const ready = findCondition(status?.conditions, "Ready");
  const owner = controllerOf({ metadata })?.kind;
  return {
    namespace: metadata.namespace ?? "",
    ready_condition: (ready?.status ?? "Unknown").toLowerCase(),
    expired: String(ready?.reason === "SandboxExpired"),
    launch_type: metadata.labels?.[launchTypeLabel] === "warm" ? "warm" : "cold",
    sandbox_template: metadata.annotations?.[sandboxTemplateRefAnnotation] ?? "unknown",
    owned_by: owner === "SandboxClaim" || owner === "SandboxWarmPool" ? owner : "None",
    created_by: normaliseCreatedBy(metadata.labels?.[createdByLabel]) ?? "",
  };
}

function buildInfo({ version, commit, date }: BuildInfo, registers: Registry[]): void {
  const labels = {
    git_version: version,
    git_commit: commit,
    build_date: date,
    go_version: "",
    compiler: `node ${process.versions.node}`,
    platform: `${process.platform}/${process.arch}`,
  };
  const labelNames = Object.keys(labels);
  const gauge = new Gauge({
    name: "agent_sandbox_build_info",
    help: "Build information, always 1",
    labelNames,
    registers,
  });
  gauge.set(labels, 1);
}

function claimMetrics(registers: Registry[]): ClaimMetrics {
  const labels = ["launch_type", "sandbox_template"];
  const startup = (name: string, since: string): Histogram =>
    new Histogram({
      name,
      help: `Milliseconds until a claim is first Ready, from ${since}`,
      labelNames: labels,
      buckets: startupBuckets,
      registers,
    });
  const sinceWebhook = startup("agent_sandbox_claim_startup_latency_ms", "its admission");
  const sinceObserved = startup(
    "agent_sandbox_claim_controller_startup_latency_ms",
    "when the controller first observed it",
  );
  const sinceRequest = startup("agent_sandbox_client_claim_startup_latency_ms", "the client's request");
  const creation = new Histogram({
    name: "agent_sandbox_creation_latency_ms",
    help: "Milliseconds from the creation of a Sandbox until it is Ready",
    labelNames: ["namespace", ...labels],
    buckets: creationBuckets,
    registers,
  });
  const total = new Counter({
    name: "agent_sandbox_claim_creation_total",
    help: "Claims that were bound to a Sandbox",
    labelNames: ["namespace", "sandbox_template", "launch_type", "warmpool_name", "pod_condition", "created_by"],
    registers,
  });
  return {
    served: (claim) =>
      total.inc({
        namespace: claim.namespace,
        sandbox_template: claim.sandboxTemplate,
        launch_type: claim.launchType,
        warmpool_name: claim.warmPoolName,
        pod_condition: claim.podCondition,
        created_by: claim.createdBy,
      }),
    started: (claim) => {
      const of = { launch_type: claim.launchType, sandbox_template: claim.sandboxTemplate };
      sinceObserved.observe(of, claim.sinceObservedMs);
      if (claim.sinceWebhookMs !== undefined) sinceWebhook.observe(of, claim.sinceWebhookMs);
      if (claim.sinceRequestMs !== undefined) sinceRequest.observe(of, claim.sinceRequestMs);
      const { sandboxCreationMs, namespace } = claim;
      if (sandboxCreationMs !== undefined) creation.observe({ namespace, ...of }, sandboxCreationMs);
    },
  };
}
