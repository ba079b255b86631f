import { type Address, type Answer, ask, jsonOf, type Question } from "./ask.ts";
import { GrpcChannel } from "./grpc-channel.ts";

export const ports = { legacy: 8888, rest: 8080, grpc: 9090, workload: 8000 } as const;

export interface Ran {
  readonly stdout: string;
  readonly stderr: string;
  readonly exit_code: number;
  readonly stdout_base64?: string;
}

/** A request as it arrived at the sandbox's server. */
export interface Arrived {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly bytes: number;
  readonly sha256: string;
}

/** A sandbox under test, reached through the router with a valid credential. */
export class Subject {
  readonly router: Address;
  readonly name: string;
  readonly token: string;

  constructor(router: Address, name: string, token: string) {
    this.router = router;
    this.name = name;
    this.token = token;
  }

  headers(port: number): Record<string, string> {
    return { "X-Sandbox-ID": this.name, "X-Sandbox-Port": String(port), Authorization: `Bearer ${this.token}` };
  }

  ask(port: number, target: string, { headers = {}, ...question }: Question = {}): Promise<Answer> {
    return ask(this.router, target, { ...question, headers: { ...this.headers(port), ...headers } });
  }

  legacy(target: string, question: Question = {}): Promise<Answer> {
    return this.ask(ports.legacy, target, question);
  }

  rest(target: string, question: Question = {}): Promise<Answer> {
    return this.ask(ports.rest, `/v1${target}`, question);
  }

  async execute(command: string, headers: Record<string, string> = {}): Promise<Ran> {
    const body = JSON.stringify({ command });
    return jsonOf(
      await this.legacy("/execute", {
        method: "POST",
        body,
        headers: { "content-type": "application/json", ...headers },
      }),
    );
  }

  /** Runs a shell script and returns its output. */
  async shell(script: string): Promise<string> {
    const { stdout, stderr, exit_code } = await this.execute(`sh -c '${script.replaceAll("'", `'"'"'`)}'`);
    if (exit_code !== 0) throw new Error(`Cannot run "${script}": ${exit_code} ${stderr}`);
    return stdout;
  }

  async arrived(target: string, question: Question = {}): Promise<Arrived> {
    return jsonOf(await this.ask(ports.workload, target, question));
  }

  async processes(): Promise<GrpcChannel> {
    return await GrpcChannel.open(this.router, this.headers(ports.grpc));
  }
}

export interface Counted {
  readonly counts: string[];
  readonly pods: number;
}

/** The requests that the sandbox's server has counted, over all its Pods. */
export async function countsOf(at: Subject): Promise<Counted> {
  return jsonOf(await at.ask(ports.workload, "/counts"));
}
