import { WorkSet } from "../gc/work-set.ts";
import { equalJson } from "../json.ts";
import type { Logger } from "../logger.ts";
import { withRevision } from "../resources/admission.ts";
import type { ApiContext } from "../verbs/context.ts";
import { aggregatedRules, isAggregated } from "./aggregation.ts";

const clusterRoles = "clusterroles";
const everything = "all aggregated roles";

/** Keeps the rules of aggregated ClusterRoles equal to those of the roles they select. */
export class RoleAggregator {
  readonly #context: ApiContext;
  readonly #work: WorkSet;
  #unsubscribe: () => void = () => undefined;

  constructor(context: ApiContext, logger: Logger) {
    this.#context = context;
    this.#work = new WorkSet(() => this.#aggregate(), logger);
  }

  start(): void {
    this.#unsubscribe = this.#context.store.subscribe(clusterRoles, () => this.#work.add(everything));
    this.#work.add(everything);
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    await this.#work.stop();
  }

  /** Checks all aggregated roles after each change of a role, which is rare. Its own writes trigger further passes. */
  async #aggregate(): Promise<void> {
    const { store } = this.#context;
    const all = [...store.list(clusterRoles)].map(({ object }) => object);
    const stale = all
      .filter((role) => isAggregated(role))
      .map((role) => ({ name: role.metadata.name as string, rules: aggregatedRules(role, all), now: role["rules"] }))
      .filter(({ rules, now }) => !equalJson(rules, now ?? []));
    await Promise.all(stale.map(({ name, rules }) => this.#write(name, rules)));
  }

  async #write(name: string, rules: unknown): Promise<void> {
    await this.#context.store.write((view, revision) => {
      const role = view.get(clusterRoles, name)?.object;
      if (role === undefined || !isAggregated(role)) return { result: undefined };
      const object = withRevision({ ...role, rules }, revision);
      return { write: { resource: clusterRoles, key: name, object }, result: undefined };
    });
  }
}
