import type { CodeValue } from "./code-events.ts";

const maxValues = 32;
/** Four images of 1 MiB in base64, and some text. */
const maxLength = 8_388_608;

/** The values that code displays, up to a number and a size. */
export class KeptValues {
  readonly kept: CodeValue[] = [];
  #dropped = 0;
  #length = 0;

  get dropped(): number {
    return this.#dropped;
  }

  add(value: CodeValue): void {
    const length = JSON.stringify(value).length;
    if (this.kept.length === maxValues || this.#length + length > maxLength) return this.drop();
    this.#length += length;
    this.kept.push(value);
  }

  drop(): void {
    this.#dropped++;
  }
}
