/* web.mjs - what an index costs in JavaScript, beside a table's.

       make web-speed

   The table is a Uint32Array that Fisher and Yates have shuffled. Rank 0 of W
   reads its batches of 256: from the table every W-th entry, by a loop; from
   the sampler by next, into the same array. fill is Perm's, of a million
   indices. All in nanoseconds an index, the least of five; `made` is what
   making the table takes, once an epoch, before the first batch. */
import path from "node:path";

const { Perm, Sampler, simd } =
    await import(path.resolve("build/web/statesampler.mjs"));
const BATCH = 256;

function make_table(n) {
    const table = new Uint32Array(n);
    for (let i = 0; i < n; i++)
        table[i] = i;
    for (let i = n - 1; i > 0; i--) {
        const j = Math.floor(Math.random() * (i + 1)), kept = table[i];
        table[i] = table[j];
        table[j] = kept;
    }
    return table;
}

/* Nanoseconds an index of what serves so many. */
function least(indices, serve) {
    let best = Infinity;
    for (let i = 0; i < 5; i++) {
        const start = performance.now();
        serve();
        best = Math.min(best, performance.now() - start);
    }
    return best * 1e6 / indices;
}

let sum = 0;
function read_table(table, worldSize, batch, steps) {
    for (let step = 0; step < steps; step++) {
        const start = step * BATCH * worldSize;
        for (let j = 0; j < BATCH; j++)
            batch[j] = table[start + j * worldSize];
        sum += batch[0];
    }
}

/* Before anything is timed, it is compiled. */
for (let i = 0; i < 20; i++)
    read_table(make_table(1e5), 1, new Uint32Array(BATCH), 300);

console.log(`node ${process.version}, ${process.arch}, ` +
            `${simd ? "with" : "without"} vectors`);
console.log("         n    W  table's read   made   next   fill  next / read");
for (const n of [1e4, 1e6, 1e8]) {
    const start = performance.now(), table = make_table(n);
    const made = (performance.now() - start) * 1e6 / n;
    const all = new Uint32Array(Math.min(n, 1e6));
    const perm = new Perm(n, { seed: 1 });
    const fill = least(all.length, () => perm.fill(0, all));
    for (const worldSize of [1, 8, 64]) {
        const steps = Math.min(Math.floor(n / BATCH / worldSize), 4000);
        const batch = new Uint32Array(BATCH);
        if (steps === 0)
            continue;
        const read = least(steps * BATCH, () =>
            read_table(table, worldSize, batch, steps));
        const sampler = new Sampler({ numSamples: n, seed: 1, worldSize,
                                      batchSize: BATCH });
        const next = least(steps * BATCH, () => {
            sampler.begin(0);
            for (let step = 0; step < steps; step++)
                sum += sampler.next(batch)[0];
        });
        const at = sampler.at(0), by_perm = perm.fill(0, BATCH, worldSize);
        if (!at.every((index, i) => index === by_perm[i]))
            throw new Error("next and fill differ");
        console.log([n.toExponential().replace("e+", "e").padStart(10),
                     String(worldSize).padStart(4),
                     read.toFixed(1).padStart(12), made.toFixed(1).padStart(7),
                     next.toFixed(1).padStart(6), fill.toFixed(1).padStart(6),
                     (next / read).toFixed(1).padStart(11)].join(" "));
    }
}
if (!(sum > 0))
    throw new Error("nothing was served");
