import { expect, test } from "vitest";
import { ByteQueue } from "./byte-queue.ts";

test("bytes come out as they went in, whatever the pieces", () => {
  using queue = new ByteQueue();
  const all = Buffer.from(Array.from({ length: 50_000 }, (_, index) => index % 251));
  const out: Buffer[] = [];
  for (let at = 0, step = 0; at < all.length; step++) {
    const next = Math.min(all.length, at + ((step * 7919) % 1500));
    queue.push(all.subarray(at, next));
    at = next;
    if (step % 3 === 0) out.push(queue.take((step * 31) % 2000));
  }
  out.push(queue.take());
  expect(Buffer.concat(out).equals(all)).toBe(true);
  expect(queue.length).toBe(0);
});

test("all queues together are bounded, small ones always work, and a queue that ends makes room", () => {
  using all = new DisposableStack();
  const big = Buffer.alloc(16 * 1024 * 1024);
  const fill = (): void => all.use(new ByteQueue()).push(big);
  expect(() => {
    for (let count = 0; count < 100; count++) fill();
  }).toThrow(/Too many large messages/);
  using small = new ByteQueue();
  small.push(Buffer.alloc(8000));
  expect(small.take()).toHaveLength(8000);
  all.dispose();
  using again = new ByteQueue();
  again.push(big);
  expect(again).toHaveLength(big.length);
});
