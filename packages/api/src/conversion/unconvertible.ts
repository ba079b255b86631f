/** Why an object cannot be converted. Thrown inside this folder only; `convert` turns it into a result. */
export class Unconvertible extends Error {
  override readonly name = "Unconvertible";
}
