/** An error whose answer is plain text: the clients of the code interpreter show the body as it is. */
export class PlainError extends Error {
  override readonly name = "PlainError";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}
