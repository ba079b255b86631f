import { type Figures, formatTable, median } from "../report.ts";
import { type Arms, reportOf } from "./arms.ts";

/** The stages of one wake: request to wake-up write, write to ready Pod, ready Pod to response. */
interface Wake {
  readonly askMs: number;
  readonly startMs: number;
  readonly answerMs: number;
}

const machineMs = (): number => Number(process.hrtime.bigint()) / 1e6;

async function wake(arms: Arms, name: string): Promise<Wake> {
  const url = `http://${arms.router.host}:${arms.router.port}/`;
  const started = machineMs();
  const answer = await fetch(url, { headers: arms.headersTo(name) });
  if (answer.status !== 200) throw new Error(`Cannot use the wake: status ${answer.status}: ${await answer.text()}`);
  await answer.arrayBuffer();
  const answered = machineMs();
  const { askedMs, readyMs } = await reportOf(arms.router);
  return { askMs: askedMs - started, startMs: readyMs - askedMs, answerMs: answered - readyMs };
}

/** Wakes the sleepers one after the other. The first is a warm-up. The Pod's start does not count as time of the router. */
export async function measureWakes(arms: Arms, count: number): Promise<Figures> {
  await wake(arms, "sleeper-0");
  const wakes: Wake[] = [];
  for (let index = 1; index <= count; index += 1) wakes.push(await wake(arms, `sleeper-${index}`));
  const stages = {
    wake_ask_ms: median(wakes.map(({ askMs }) => askMs)),
    wake_pod_ms: median(wakes.map(({ startMs }) => startMs)),
    wake_answer_ms: median(wakes.map(({ answerMs }) => answerMs)),
  };
  const share = median(wakes.map(({ askMs, answerMs }) => askMs + answerMs));
  const rows = Object.entries({ ...stages, wake_router_share_ms: share }).map(([stage, ms]) => [stage, ms.toFixed(2)]);
  console.log(`${formatTable(["wake, by stage", "p50 ms"], rows)}\n`);
  return { ...stages, wake_router_share_ms: share };
}
