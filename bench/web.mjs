/* web.mjs - the time of an index in JavaScript, compared with a table's.

       make web-speed

   The table is a Uint32Array shuffled by Fisher-Yates. Rank 0 of W reads
   batches of 256: every W-th entry of the table in a loop, or Sampler.next into
   the same array. fill is Perm.fill of all these indices, at most a million, in
   one call. The three take turns, 41 times; printed is the median, in
   nanoseconds of processor time per index. `made` is the time to make the
   table, which each epoch needs before its first batch. Two bars: a page
   without a bundler downloads at most 19 KiB gzipped, and at 10^8 fill takes at
   most twice as long as reading the table (the median of the ratios).

   Then the page in headless Chromium, with a run of a million samples: frames
   per second, the processor time per frame of the page's thread, and both this
   and a kill where that thread has a sixth of the processor. */
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { launch, open } from "../examples/js/tests/chromium.mjs";

const met = (yes) => yes ? "met" : "MISSED";
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

/* Processor time of this process in nanoseconds, so that other processes do
   not count. */
function now() {
    const { user, system } = process.cpuUsage();
    return (user + system) * 1000;
}

const median = (list) =>
    [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];

/* The time per index of several functions that each serve this many indices, in
   each turn. */
function take_turns(indices, serves) {
    const times = serves.map(() => []);
    const times_a_turn = Math.ceil(1e6 / indices);
    for (let turn = 0; turn < 41; turn++)
        serves.forEach((serve, i) => {
            const start = now();
            for (let j = 0; j < times_a_turn; j++)
                serve();
            times[i].push((now() - start) / (indices * times_a_turn));
        });
    return times;
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

/* Warm up the JIT. WebAssembly is fully optimized at once, by --no-liftoff. */
for (let i = 0; i < 20; i++)
    read_table(make_table(1e5), 1, new Uint32Array(BATCH), 300);

console.log(`node ${process.version}, ${process.arch}, ` +
            `${simd ? "with" : "without"} vectors`);
console.log("         n    W    table read   made   next   fill  " +
            "fill / read  at most 2");
for (const n of [1e4, 1e6, 1e8]) {
    const start = now(), table = make_table(n), made = (now() - start) / n;
    const perm = new Perm(n, { seed: 1 });
    for (const worldSize of [1, 8, 64]) {
        const steps = Math.min(Math.floor(n / BATCH / worldSize), 4000);
        const batch = new Uint32Array(BATCH);
        if (steps === 0)
            continue;
        const sampler = new Sampler({ numSamples: n, seed: 1, worldSize,
                                      batchSize: BATCH });
        const all = new Uint32Array(steps * BATCH);
        const [reads, nexts, fills] = take_turns(steps * BATCH, [
            () => read_table(table, worldSize, batch, steps),
            () => {
                sampler.begin(0);
                for (let step = 0; step < steps; step++)
                    sum += sampler.next(batch)[0];
            },
            () => perm.fill(0, all),
        ]);
        const [read, next, fill] = [reads, nexts, fills].map(median);
        const ratio = median(fills.map((cost, turn) => cost / reads[turn]));
        const at = sampler.at(0), by_perm = perm.fill(0, BATCH, worldSize);
        if (!at.every((index, i) => index === by_perm[i]))
            throw new Error("next and fill differ");
        console.log([n.toExponential().replace("e+", "e").padStart(10),
                     String(worldSize).padStart(4),
                     read.toFixed(1).padStart(12), made.toFixed(1).padStart(7),
                     next.toFixed(1).padStart(6), fill.toFixed(1).padStart(6),
                     ratio.toFixed(1).padStart(12),
                     n === 1e8 ? "  " + met(ratio <= 2) : ""].join(" "));
    }
}
if (!(sum > 0))
    throw new Error("nothing was served");

const gzipped = (name) =>
    execFileSync("gzip", ["-9", "-n", "-c", "build/web/" + name]).length;
for (const name of ["statesampler-simd.wasm", "statesampler.wasm"]) {
    const bytes = gzipped("statesampler.mjs") + gzipped(name);
    console.log(`statesampler.mjs and ${name}: ${bytes} bytes gzipped, at ` +
                `most 19456: ${met(bytes <= 19456)}`);
}

/* Over three seconds: frames per second, and milliseconds of processor time per
   frame of the page's thread. */
async function frames(page) {
    let rate;
    const ms = await page.busy(async () => { rate = await page.frames(3); });
    return [rate, ms / (3 * rate)];
}

/* The same where the page's thread has a sixth of the processor: frames, and
   the milliseconds from a kill until it is drawn, the median of seven. */
async function slowed(page) {
    await page.send("Emulation.setCPUThrottlingRate", { rate: 6 });
    const rate = await page.frames(3), kills = [];
    for (let i = 0; i < 7; i++) {
        kills.push(await page.evaluate(`new Promise((drawn) => {
            const start = performance.now();
            document.getElementById("kill").click();
            requestAnimationFrame(() => setTimeout(() =>
                drawn(performance.now() - start)));
        })`));
        await page.click("#resume");
        await page.frames(0.5);
    }
    return [rate, median(kills)];
}

async function page_speed() {
    const profile = fs.mkdtempSync(path.join(os.tmpdir(), "speed"));
    const browser = await launch(profile);
    try {
        const url = "file://" + path.resolve("build/web/index.html");
        for (const scale of [1, 2]) {
            const page = await open(browser, url, { scale });
            await page.click("#numSamplesText");
            await page.evaluate("document.activeElement.select()");
            await page.type("1000000");
            await page.press("Tab", 9);
            const [rate, ms] = await frames(page);
            console.log(`the page, a million samples, ${scale}x pixels: ` +
                `${rate.toFixed(0)} frames per second, ${ms.toFixed(1)} ms ` +
                `of processor time per frame, at most 16: ${met(ms <= 16)}`);
            const [slow, kill] = await slowed(page);
            console.log("    with a sixth of the processor: " +
                `${slow.toFixed(0)} frames per second, at least 25: ` +
                `${met(slow >= 25)}; ${kill.toFixed(0)} ms until a kill is ` +
                `drawn, at most 100: ${met(kill <= 100)}`);
            await page.close();
        }
    } finally {
        await browser.close();
        fs.rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    }
}

const here = (program) => process.env.PATH.split(":")
    .some((folder) => fs.existsSync(path.join(folder, program)));
if (here("chromium"))
    await page_speed();
else
    console.log("skip the page: chromium is not installed");
