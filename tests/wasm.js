/* wasm.js - does the header, as WebAssembly, give what tests/vectors.json
   says?

       node wasm.js core.wasm vectors.json

   core.wasm is the core with every function exported. The file says what its
   fields mean. */
"use strict";
const fs = require("fs");
const [core, vectors] = process.argv.slice(2);
const { exports: c } = new WebAssembly.Instance(
    new WebAssembly.Module(fs.readFileSync(core)));

/* Memory behind the core's own: what functions take by address. */
const object = c.__heap_base.value, desc = object + 512, state = desc + 80;
const place = state + 112, counter = place + 24, out = counter + 8;
const most = 1000;
c.memory.grow(1);
const memory = new DataView(c.memory.buffer);
const unsigned = (number) => BigInt.asUintN(64, number);
const word = (at) => memory.getBigUint64(at, true);
const half = (at) => memory.getUint32(at, true);
const indices = (count) =>
    Array.from({ length: count }, (_, i) => word(out + 8 * i));
const bytes = () => new Uint8Array(c.memory.buffer, state, 112);

let where, compared = 0;
function same(have, want, what) {
    compared++;
    if (String(have) !== String(want)) {
        console.log(`${vectors}: ${where}: ${what}: ${have}, not ${want}`);
        process.exit(1);
    }
}

/* FNV-1a of 64 bits. */
let digest;
function hash(byte) {
    digest = unsigned((digest ^ BigInt(byte)) * 0x100000001b3n);
}
function take(number) {
    for (let i = 0n; i < 64n; i += 8n)
        hash(unsigned(BigInt(number)) >> i & 255n);
}

function check_perm({ n, seed, epoch, stream, first, stride, count, ...want }) {
    const [size, at, step] = [n, first, stride].map(BigInt);
    same(c.statesampler_perm_init(object, size, BigInt(seed), BigInt(epoch),
                                  BigInt(stream)), 0, "perm_init");
    for (let i = 0; i < count; i += most) {
        const now = Math.min(count - i, most);
        c.statesampler_perm_fill(object, at + BigInt(i) * step, step, out, now);
        indices(now).forEach((index, k) => {
            const x = at + BigInt(i + k) * step;
            const position = unsigned(c.statesampler_perm_inverse(object, x));
            same(unsigned(c.statesampler_perm_at(object, x)), index, "perm_at");
            if (i + k < want.indices.length) {
                same(index, want.indices[i + k], "an index");
                same(position, want.positions[i + k], "a position");
            }
            take(index);
            take(position);
        });
    }
}

function describe(d) {
    const words = [d.num_samples, d.seed, d.epoch, d.stream];
    const halves = [d.rank, d.world_size, d.batch_size, d.order, d.partition,
                    d.tail, d.drop_last];
    words.forEach((x, i) =>
        memory.setBigUint64(desc + 8 * i, BigInt(x || 0), true));
    halves.forEach((x, i) => memory.setUint32(desc + 32 + 4 * i, x || 0, true));
    [d.chunk_size, d.window].forEach((x, i) =>
        memory.setBigUint64(desc + 64 + 8 * i, BigInt(x || 0), true));
}

function check_sampler(d) {
    describe(d);
    same(c.statesampler_init(object, desc), 0, "init");
    if (d.load) {
        bytes().set(Buffer.from(d.load, "hex"));
        same(c.statesampler_load(object, state, 112), 0, "load");
    }
    if (d.seek !== undefined)
        same(c.statesampler_seek(object, BigInt(d.seek)), 0, "seek");
    for (let call = 0; call < d.calls; call++) {
        const step = c.statesampler_step(object);
        c.statesampler_save(object, state, 112);
        bytes().forEach(hash);
        take(step);
        take(c.statesampler_padding(object, step));
        const index = BigInt(37 * call) % (BigInt(d.num_samples || 0) + 1n);
        const code = c.statesampler_locate(object, index, place);
        (code ? [Math.trunc(-code / 100)]
              : [word(place), word(place + 8), half(place + 16),
                 half(place + 20)]).forEach(take);
        const more = c.statesampler_next(object, out, counter);
        const batch = indices(half(counter));
        /* The file passes over a step in which this rank has no sample. */
        if (more && batch.length === 0)
            same(c.statesampler_next(object, out, counter), 0, "the end");
        if (call < d.next.length)
            same(batch, d.next[call], "a batch");
        take(batch.length);
        batch.forEach(take);
    }
    c.statesampler_save(object, state, 112);
    bytes().forEach(hash);
    if (d.state)
        same(Buffer.from(bytes()).toString("hex"), d.state, "the state");
}

function check_seed(d) {
    describe({ num_samples: 10, seed: d.seed, stream: d.stream });
    same(c.statesampler_init(object, desc), 0, "init");
    d.indices.forEach((index, i) =>
        same(unsigned(c.statesampler_sample_seed(object, BigInt(d.epoch),
                                                 BigInt(index))),
             d.seeds[i], "sample_seed"));
}

function check_hash(d) {
    bytes().set(d.bytes);
    same(unsigned(c.statesampler_hash(BigInt(d.from), state, d.bytes.length)),
         d.hash, "hash");
}

JSON.parse(fs.readFileSync(vectors)).cases.forEach((wanted, i) => {
    where = `case ${i + 1}, ${wanted.config}`;
    if (wanted.kind === "audit" || wanted.kind === "sequence")
        return;
    if (wanted.kind === "seed")
        return check_seed(wanted);
    if (wanted.kind === "hash")
        return check_hash(wanted);
    digest = 0xcbf29ce484222325n;
    (wanted.kind === "perm" ? check_perm : check_sampler)(wanted);
    same(digest.toString(16).padStart(16, "0"), wanted.digest, "the digest");
});
console.log(`note: ${compared} comparisons`);
