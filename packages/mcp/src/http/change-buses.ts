import { InMemoryServerEventBus, type ServerEvent, type ServerEventBus } from "@modelcontextprotocol/server";

/** What one user's clients are told about the user's sandboxes. A bus exists as long as somebody listens. */
export class ChangeBuses {
  readonly #buses = new Map<string, InMemoryServerEventBus>();

  get size(): number {
    return this.#buses.size;
  }

  of(owner: string): ServerEventBus {
    return {
      publish: (event: ServerEvent): void => this.#buses.get(owner)?.publish(event),
      subscribe: (listener) => {
        const bus = this.#buses.get(owner) ?? new InMemoryServerEventBus();
        this.#buses.set(owner, bus);
        const stop = bus.subscribe(listener);
        return () => {
          stop();
          if (bus.listenerCount === 0 && this.#buses.get(owner) === bus) this.#buses.delete(owner);
        };
      },
    };
  }
}
