/* memory.mjs - does the memory stay as small as statesampler.d.mts says?

       node examples/js/tests/memory.mjs

   in the project's root, after make web. It needs a process of its own. */
import assert from "node:assert/strict";
import test from "node:test";

/* What loads the module sees is kept: its memory. */
let memory;
const instantiate = WebAssembly.instantiate;
WebAssembly.instantiate = async (...args) => {
    const made = await instantiate(...args);
    memory = Object.values(made.instance.exports)
        .find((one) => one instanceof WebAssembly.Memory);
    return made;
};
const { Audit, Bag, Ledger, Mix, Perm, Sampler } =
    await import(process.cwd() + "/build/web/statesampler.mjs");

/* Neither WebAssembly's nor JavaScript's grows, however many objects there
   were. */
test("memory stays", () => {
    const batch = new Uint32Array(16), before = memory.buffer.byteLength;
    const sampler = new Sampler({ numSamples: 1e6, batchSize: 16 });
    for (let i = 0; i < 2e5; i++)
        sampler.next(batch);
    const size = memory.buffer.byteLength, start = process.memoryUsage().rss;
    assert.ok(size - before <= 65536);
    for (let i = 0; i < 1e5; i++) {
        new Sampler({ numSamples: i, batchSize: 16 }).next();
        new Perm(i + 1).at(i);
    }
    for (let i = 0; i < 3e5; i++)
        sampler.next();
    assert.equal(memory.buffer.byteLength, size);
    /* Of no kind that Vue wraps: "Object", "Array", "Map" and so on. */
    for (const one of [sampler, new Mix([{ numSamples: 1 }]), new Perm(1),
                       new Audit(), new Bag([]), new Ledger({ window: 64 })])
        assert.equal(String(one), "[object statesampler]");
    const more = (process.memoryUsage().rss - start) / 2 ** 20;
    assert.ok(more < 64, `${more} MiB more`);
});

/* What the declarations say of a large batch: 8 bytes for each index, for
   ever, and no more for the next one. */
test("a large batch takes 8 bytes an index", () => {
    const batchSize = 5e6, into = new Uint32Array(batchSize);
    const sampler = new Sampler({ numSamples: 2 * batchSize, batchSize });
    const before = memory.buffer.byteLength;
    sampler.next(into);
    const size = memory.buffer.byteLength, each = (size - before) / batchSize;
    assert.ok(each > 7.9 && each < 8.1, `${each} bytes`);
    sampler.next(into);
    new Perm(1e7).fill(0, new Uint32Array(1e7)); /* needs 64 KiB */
    assert.equal(memory.buffer.byteLength, size);
});
