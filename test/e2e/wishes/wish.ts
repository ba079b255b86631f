/** What a new user wants, and the commands that do it. */
export interface Wish {
  /** A sentence of the user, without a full stop. */
  readonly wish: string;
  /** Lines of a shell. Later wishes may use what earlier ones made. */
  readonly commands: string;
  /**
   * What they print, as on the pages of the documentation: `…` stands for any text of a line, a line `…` for any lines, and times,
   * sizes, UIDs and addresses for others of their kind. Empty: they print nothing.
   */
  readonly output: string;
  /** The exit status of the commands. Default: 0. */
  readonly status?: number;
}

export interface Topic {
  readonly title: string;
  readonly wishes: readonly Wish[];
}
