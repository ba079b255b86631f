/** What the sandboxes of the pictures run, and the files in them. */

/** A shop that serves pages to itself, and writes a log. Its memory and CPU rise and fall. */
export const shopServer = `
import http.server, json, math, random, sys, threading, time, urllib.request
started = time.time()
class Shop(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"cart": [{"sku": "mug-blue", "quantity": 2}], "total": 23.80}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("0.0.0.0", 8000), Shop)
threading.Thread(target=server.serve_forever, daemon=True).start()
def log(level, message, **fields):
    extra = " ".join(f"{name}={value}" for name, value in fields.items())
    print(f"{level:5} {message:22} {extra}", flush=True)
log("info", "configuration loaded", environment="preview", features=14)
log("info", "database connected", pool=8, took="41ms")
log("info", "listening", address="0.0.0.0:8000")
routes = ["GET /cart", "GET /products/mug-blue", "POST /cart/items", "GET /checkout", "POST /orders", "GET /health"]
kept, number = [], 1000
while True:
    phase = time.time() - started
    kept = [bytearray(1 << 20) for _ in range(int(14 + 10 * math.sin(phase / 17) + 3 * random.random()))]
    for _ in range(random.randint(1, 4)):
        urllib.request.urlopen("http://127.0.0.1:8000/cart").read()
        number += 1
        log("info", "request completed", route=json.dumps(random.choice(routes)), status=random.choice([200, 200, 200, 201, 304]), took=f"{random.randint(2, 38)}ms", id=f"req-{number}")
    if random.random() < 0.06: log("warn", "payment was slow", provider="card", took=f"{random.randint(800, 1900)}ms")
    busy = time.time() + 0.02 + 0.06 * (1 + math.sin(phase / 11))
    while time.time() < busy: pass
    time.sleep(0.9)
`;

/** A worker that was started through the runtime API. */
export const orderWorker = `
import random, time
for batch in range(1, 100000):
    print(f"batch {batch}: {random.randint(3, 40)} orders exported", flush=True)
    time.sleep(2)
`;

/** Writes a small project into /workspace. */
export const projectFiles = `
import os, random, struct, time, zlib
os.chdir("/workspace")
def write(path, text, age=0, mode=0o644):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w") as file: file.write(text)
    os.chmod(path, mode)
    os.utime(path, (time.time() - age, time.time() - age))
write("src/cart.ts", '''import { priceOf } from "./prices.ts";

/** A line of a cart. */
export interface Line {
  readonly sku: string;
  readonly quantity: number;
}

/** What a cart costs, in cents, without shipping. */
export function totalOf(lines: readonly Line[]): number {
  return lines.reduce((sum, { sku, quantity }) => sum + priceOf(sku) * quantity, 0);
}

/** Orders of at least 50 are shipped for free. */
export function shippingOf(total: number): number {
  return total >= freeFrom ? 0 : 490;
}

const freeFrom = 5000;
''', 500)
for index, name in enumerate(["prices", "server", "orders", "payments", "session"]):
    write(f"src/{name}.ts", f"export const {name} = {{}};\\n" * (12 * (index + 2)), 4000 * (index + 1))
for name in ["cart", "orders", "payments"]: write(f"tests/{name}.test.ts", "test('works', () => {});\\n" * 30, 9000)
write("README.md", "# web-checkout\\n\\nThe checkout of the shop. Run it with \`npm start\`.\\n", 86400 * 9)
write("package.json", '{\\n  "name": "web-checkout",\\n  "version": "4.2.0",\\n  "type": "module"\\n}\\n', 86400 * 2)
write("tsconfig.json", '{\\n  "compilerOptions": { "strict": true }\\n}\\n', 86400 * 9)
write("deploy.sh", "#!/bin/sh\\nset -eu\\nnpm run build\\n", 86400 * 3, 0o755)
write("data/orders.csv", "id,total,placed\\n" + "".join(f"{1000 + n},{random.randint(900, 9000)},2026-11-{n % 28 + 1:02}\\n" for n in range(4000)), 7200)
write("docs/runbook.md", "# Runbook\\n\\n1. Look at the log.\\n", 86400 * 5)
with open("data/traces.ndjson.gz", "wb") as file: file.write(os.urandom(1 << 20) * 3)
def chunk(kind, data): return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
rows = bytearray()
size = 360
for y in range(size):
    rows.append(0)
    for x in range(size):
        inside = (x - size / 2) ** 2 + (y - size / 2) ** 2 < (size * 0.42) ** 2
        ring = (x - size / 2) ** 2 + (y - size / 2) ** 2 < (size * 0.24) ** 2
        rows += bytes((250, 250, 255)) if ring else bytes((79 + x // 6, 70 + y // 9, 229)) if inside else bytes((238, 240, 255))
image = b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(bytes(rows), 9)) + chunk(b"IEND", b"")
with open("logo.png", "wb") as file: file.write(image)
`;

/** A job that ends with an error. */
export const failingReport = `
import sys
print("reading data/orders.csv")
print("error: column 'placed' is missing in line 812", file=sys.stderr)
open("/dev/termination-log", "w").write("column 'placed' is missing in line 812")
sys.exit(3)
`;
