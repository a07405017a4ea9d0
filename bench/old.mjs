/* old.mjs - the permutation in bulk as WebAssembly beside that of version
   0.4.0's module, as old.c has it for C.

       node --no-liftoff bench/old.mjs FOLDER FOLDER_OF_0.4.0

   Prints a line for each figure: its name, value, unit, yardstick, the
   yardstick's value and the bar, for bench/run.sh. A time is the shortest of
   many calls, in turns. WebAssembly is fully optimized at once, by
   --no-liftoff. */
import fs from "node:fs";

const COUNT = 16384, STRIDE = 8n, BAR = 1.5;
const MS = "BENCH_QUICK" in process.env ? 10 : 1500;

function load(folder) {
    const wasm = fs.readFileSync(folder + "/statesampler-simd.wasm");
    const c = new WebAssembly.Instance(new WebAssembly.Module(wasm)).exports;
    const [, , permBytes] = new BigUint64Array(c.memory.buffer, c.start(), 3);
    const at = c.reserve(Number(permBytes), COUNT);
    return { c, ns: Infinity,
             out: new BigUint64Array(c.memory.buffer, at, COUNT) };
}

function fill(module, first) {
    const start = performance.now();
    module.c.perm_fill(first, STRIDE, COUNT);
    module.ns = Math.min(module.ns, (performance.now() - start) * 1e6);
}

for (const [figure, n] of [["bulk; n = 10^8", 10n ** 8n],
                           ["bulk; n = 2^40", 2n ** 40n]]) {
    const modules = process.argv.slice(2).map(load);
    for (const { c } of modules)
        c.perm_init(n, 1n, 2n, 3n);
    let first = 0n;
    for (const end = performance.now() + MS; performance.now() < end;) {
        for (const module of modules)
            fill(module, first);
        if (modules[0].out.some((index, i) => index !== modules[1].out[i]))
            throw new Error("another index than that of 0.4.0");
        first = (first + 1n) % 1024n;
    }
    const [ns, old] = modules.map((module) => module.ns / COUNT);
    console.log([figure, ns, "ns/index", "0.4.0", old, BAR].join());
}
