/** The reason why an object cannot be converted. Thrown in this folder only: `convert` returns it as a result. */
export class Unconvertible extends Error {
  override readonly name = "Unconvertible";
}
