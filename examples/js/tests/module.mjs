/* module.mjs - does statesampler.mjs do what the header does?

       node [--test-name-pattern=...] examples/js/tests/module.mjs VARIANT

   in the project's root, after make web build/test/cc/serve build/bag. VARIANT
   is simd, plain (without SIMD), or inlined or inlined-plain: the npm package's
   module, with the WebAssembly in its text. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import test, { after } from "node:test";
import { runInNewContext } from "node:vm";

const [variant] = process.argv.slice(2);
assert.ok(["simd", "plain", "inlined", "inlined-plain"].includes(variant));

/* Options of a test that looks at the module's memory, which is seen where it
   is loaded from a file, and of those that need one variant only. */
const FILES = { skip: variant.startsWith("inlined") };
const SIMD = { skip: variant !== "simd" };

/* What loads the module sees is kept: whether its memory grows. */
let memory;
const plain = variant.endsWith("plain");
if (plain)
    WebAssembly.validate = () => false;
const instantiate = WebAssembly.instantiate;
WebAssembly.instantiate = async (...args) => {
    const made = await instantiate(...args);
    memory = Object.values(made.instance.exports)
        .find((one) => one instanceof WebAssembly.Memory);
    return made;
};
const library = await import(process.cwd() + "/build/web/" +
                             (variant.startsWith("inlined") ? "package/" : "") +
                             "statesampler.mjs");
const { Audit, Bag, Ledger, Mix, Perm, Sampler, StatesamplerError,
        describeState, ORDERS, PARTITIONS, STOPS, TAILS } = library;
assert.equal(library.simd, !plain);

let checks = 0;
function same(have, want, what) {
    checks++;
    assert.deepEqual(have, want, what);
}

const header = fs.readFileSync("statesampler.h", "utf8");
const hex = (bytes) => Buffer.from(bytes).toString("hex");
const unhex = (text) => new Uint8Array(Buffer.from(text, "hex"));

/* --- tests/vectors.json --------------------------------------------------- */

let digest; /* FNV-1a of 64 bits */
function hash(byte) {
    digest = BigInt.asUintN(64, (digest ^ BigInt(byte)) * 0x100000001b3n);
}
function take(number) {
    for (let i = 0n; i < 64n; i += 8n)
        hash(BigInt(number) >> i & 255n);
}

function perm_case({ n, seed, epoch, stream, first, stride, count, ...want }) {
    const perm = new Perm(BigInt(n), {
        seed: BigInt(seed), epoch: BigInt(epoch), stream: BigInt(stream),
        bigint: true });
    perm.fill(BigInt(first), count, BigInt(stride)).forEach((index, i) => {
        const x = BigInt(first) + BigInt(i) * BigInt(stride);
        const position = perm.inverse(x);
        assert.equal(perm.at(x), index);
        if (i < want.indices.length) {
            same(String(index), String(want.indices[i]));
            same(String(position), String(want.positions[i]));
        }
        take(index);
        take(position);
    });
}

function describe(d) {
    const wide = (name) => BigInt(d[name] ?? 0);
    return {
        numSamples: wide("num_samples"), seed: wide("seed"),
        epoch: wide("epoch"), stream: wide("stream"),
        chunkSize: wide("chunk_size"), window: wide("window"),
        rank: d.rank ?? 0, worldSize: d.world_size ?? 0,
        batchSize: d.batch_size ?? 0, order: ORDERS[d.order ?? 0],
        partition: PARTITIONS[d.partition ?? 0], tail: TAILS[d.tail ?? 0],
        dropLast: Boolean(d.drop_last), bigint: true };
}

function take_place(sampler, index) {
    try {
        const { position, step, rank, slot } = sampler.locate(index);
        [position, step, rank, slot].forEach(take);
    } catch (error) {
        take(Math.trunc(-error.code / 100));
    }
}

function sampler_case(d) {
    const sampler = new Sampler(describe(d));
    if (d.load)
        sampler.load(unhex(d.load));
    if (d.seek !== undefined)
        sampler.seek(BigInt(d.seek));
    for (let call = 0; call < d.calls; call++) {
        const step = sampler.step;
        sampler.save().forEach(hash);
        take(step);
        take(sampler.padding(step));
        take_place(sampler, BigInt(37 * call) % (sampler.numSamples + 1n));
        let batch = sampler.next();
        /* The file passes over a step in which this rank has no sample. */
        if (batch?.length === 0)
            same(sampler.next(), null);
        batch = Array.from(batch ?? [], String);
        if (call < d.next.length)
            same(batch, d.next[call].map(String));
        take(batch.length);
        batch.forEach(take);
    }
    sampler.save().forEach(hash);
    if (d.state)
        same(hex(sampler.save()), d.state);
}

function sequence_case(d) {
    const { rank, worldSize, bigint, ...desc } = describe(d);
    const sources = d.weights.map((weight, i) => ({
        ...desc, weight, numSamples: d.sizes[i], stream: i }));
    const mix = new Mix(sources, { stop: "never", rank, worldSize, bigint });
    mix.seek(BigInt(d.seek ?? 0));
    for (let call = 0; call < d.calls; call++) {
        const { source, indices } = mix.next();
        if (call < d.turns.length)
            same(source, d.turns[call]);
        take(source);
        take(indices.length);
        indices.forEach(take);
    }
    mix.save().forEach(hash);
    if (d.state)
        same(hex(mix.save()), d.state);
}

function seed_case(d) {
    const sampler = new Sampler({ numSamples: 10, seed: BigInt(d.seed),
                                  stream: BigInt(d.stream) });
    d.indices.forEach((index, i) =>
        same(String(sampler.sampleSeed(BigInt(d.epoch), BigInt(index))),
             String(d.seeds[i])));
}

test("what tests/vectors.json says", () => {
    const before = checks;
    const { cases } = JSON.parse(fs.readFileSync("tests/vectors.json"));
    for (const wanted of cases) {
        digest = 0xcbf29ce484222325n;
        if (wanted.kind === "seed")
            seed_case(wanted);
        else if (wanted.kind === "perm")
            perm_case(wanted);
        else if (wanted.kind === "sampler")
            sampler_case(wanted);
        else if (wanted.kind === "sequence")
            sequence_case(wanted);
        if (wanted.digest)
            same(digest.toString(16).padStart(16, "0"), wanted.digest);
    }
    assert.ok(checks - before > 2 * cases.length);
});

/* --- 8 ranks, then 3, then 5 ---------------------------------------------- */

/* All ranks of a shape, that go on from a state: some steps of each. */
function serve(desc, worldSize, batchSize, state, steps, audit) {
    let last;
    for (let rank = 0; rank < worldSize; rank++) {
        const sampler = new Sampler({ ...desc, rank, worldSize, batchSize });
        if (state)
            sampler.load(state);
        for (let step = 0; step < steps; step++) {
            const batch = sampler.next();
            if (batch === null)
                break;
            audit.add(batch);
        }
        assert.ok(rank === 0 || hex(sampler.save()) === last);
        last = hex(sampler.save());
    }
    return unhex(last);
}

test("8 ranks, then 3, then 5", () => {
    for (const numSamples of [1000, 1003, 100003])
        for (const order of ["shuffle", "sequential", "window"])
            for (const partition of PARTITIONS) {
                const desc = { numSamples, order, partition, tail: "uneven",
                               seed: 7, chunkSize: 10, window: 4 };
                const audit = new Audit(), rest = new Audit();
                let state = serve(desc, 8, 4, null, 5, audit);
                same(audit.check(numSamples), false);
                state = serve(desc, 3, 16, state, 4, audit);
                serve(desc, 5, 20, state, Infinity, rest);
                audit.merge(rest);
                same(audit.count, numSamples);
                same(audit.check(numSamples), true);
                same(audit.check(numSamples + 1), false);
            }
    /* The same without a state. */
    const by_state = new Sampler({ numSamples: 100, batchSize: 5 });
    by_state.next();
    const reshaped = new Sampler({ numSamples: 100, batchSize: 5 });
    reshaped.load(by_state.save());
    reshaped.reshape({ rank: 1, worldSize: 3, batchSize: 7 });
    const loaded = new Sampler({ numSamples: 100, rank: 1, worldSize: 3,
                                 batchSize: 7 });
    loaded.load(by_state.save());
    same([...reshaped], [...loaded]);
});

/* --- states from and to a program in C ------------------------------------ */

function served_by_c(...words) {
    const { status, stdout, stderr } =
        spawnSync("build/test/cc/serve", words, { encoding: "utf8" });
    assert.equal(status, 0, stderr);
    return stdout.trim().split("\n").map(Number);
}

/* The two take turns in one epoch, by a file. */
test("states from and to a program in C", () => {
    const folder = fs.mkdtempSync((process.env.TMPDIR ?? "/tmp") + "/web");
    const file = folder + "/state";
    const all = ["num_samples=1000", "seed=9", "batch_size=10", "order=2",
                 "chunk_size=16", "window=4"];
    const desc = { numSamples: 1000, seed: 9, batchSize: 10, order: "window",
                   chunkSize: 16, window: 4 };
    const served = [], want = served_by_c(...all);
    for (let turn = 0; turn < 5; turn++) {
        served.push(...served_by_c(...all, "steps=8", file));
        const sampler = new Sampler(desc);
        sampler.load(new Uint8Array(fs.readFileSync(file)));
        same(sampler.step, 20 * turn + 8);
        for (let step = 0; step < 12; step++)
            served.push(...sampler.next());
        fs.writeFileSync(file, sampler.save());
    }
    same(served, want);
    const state = new Uint8Array(fs.readFileSync(file));
    same(describeState(state).position, 1000n);
    const last = 2n ** 64n - 1n;
    same(describeState(new Sampler({ numSamples: 10, seed: last }).save()).seed,
         last);
    same(describeState(state).order, "window");
    fs.rmSync(folder, { recursive: true });
});

/* --- bags ----------------------------------------------------------------- */

/* What build/bag does, step by step, each in a bag of its own. */
test("bags: what build/bag does", () => {
    const { stdout } = spawnSync("build/bag", { encoding: "utf8" });
    const before = checks;
    let bag = new Bag(Array(20).keys(), { seed: 7 });
    const actions = {
        draws: () => bag.draw(),
        adds: (item) => bag.add(item),
        removes: (item) => bag.remove(item),
        takes: (item) => bag.take(item),
        holds: (item) => bag.hold(BigInt(item)),
        discards: (item) => bag.discard(item),
        back: () => bag.walk(-1) ?? -1,
        forward: () => bag.walk(1n) ?? -1
    };
    const line = new RegExp("^step \\d+ (\\w+)(?: to)? (-?\\d+), (\\d+) of " +
                            "(\\d+) are left, (\\d+) held, state (\\w+)$",
                            "gm");
    for (const [, action, item, ...numbers] of stdout.matchAll(line)) {
        const state = numbers.pop();
        same(actions[action](Number(item)) ?? Number(item), Number(item));
        same([bag.left, bag.items.length, bag.held], numbers.map(Number));
        same(hex(bag.save()), state);
        const next = new Bag(bag.items);
        next.load(bag.save(), bag.held);
        bag = next;
    }
    assert.equal(checks - before, 1200);
    if (library.simd) /* no vectors decide what is refused */
        bag_errors(bag);
    /* No items, one, and several that are the same. */
    bag = new Bag([]);
    same([bag.draw(), bag.walk(-1), bag.left], [null, null, 0]);
    bag.add(2 ** 32 - 1);
    same([bag.draw(), bag.draw()], [2 ** 32 - 1, 2 ** 32 - 1]);
    bag.remove(2 ** 32 - 1);
    same(bag.draw(), null);
    bag = new Bag([7]);
    same([bag.draw(), bag.draw(), bag.draw(), bag.save()[4]], [7, 7, 7, 2]);
    bag = new Bag([0, 1]);
    for (let i = 0, last; i < 200; i += 2, last = bag.draw())
        assert.notEqual(bag.draw(), last);
    bag = new Bag(Array(300).keys());
    const came = Array.from({ length: 300 }, () => bag.draw());
    same(bag.walk(-255), came[44]);
    same([bag.walk(-1), bag.walk(254), bag.walk(2)], [null, came[298], null]);
    bag.remove(came[299]); /* what is after the player, then before */
    bag.remove(came[0]);
    same([bag.walk(1), bag.walk(-1), bag.left], [null, came[297], 0]);
    bag = new Bag([5, 5, 6n]);
    same([bag.draw(), bag.draw(), bag.draw()].sort(), [5, 5, 6]);
    bag.remove(5);
    same([...bag.items].sort(), [5, 6]);
    takes_and_holds();
    /* In turn with another, which grows, a bag is as it is alone. */
    const draws = (one, other) => Array.from({ length: 40 }, (_, i) => {
        other?.add(i);
        return [one.draw(), other?.draw()][0];
    });
    same(draws(new Bag(Array(9).keys()), new Bag([])),
         draws(new Bag(Array(9).keys())));
});

/* A chosen item first, then the rest, each once; what is in a hand comes in no
   bag; which of several that are the same is taken, C and JavaScript agree. */
function takes_and_holds() {
    const draws = (bag, count) => Array.from({ length: count },
                                             () => bag.draw());
    const sorted = (items) => [...items].sort((a, b) => a - b);
    let bag = new Bag(Array(9).keys(), { seed: 3 });
    const was = draws(new Bag(Array(9).keys(), { seed: 3 }), 9);
    bag.take(was[5]);
    same(draws(bag, 8), was.filter((item) => item !== was[5]));
    bag.take(was[2]); /* the next bag */
    same([new Set([was[2], ...draws(bag, 5)]).size, bag.left], [6, 3]);
    bag.take(was[2]); /* which came already */
    same([bag.left, bag.walk(0)], [3, was[2]]);
    bag = new Bag([1, 2, 3, 4]);
    const hand = draws(bag, 4);
    for (const card of hand)
        bag.hold(card);
    same([bag.draw(), bag.held, bag.left], [null, 4, 0]);
    bag.discard(hand[1]);
    same([draws(bag, 3), bag.held], [Array(3).fill(hand[1]), 3]);
    bag.discard(hand[0]);
    same(sorted(draws(bag, 4)), sorted([hand[0], hand[0], hand[1], hand[1]]));
    bag.remove(hand[2]);
    same([bag.held, [...bag.items].length], [1, 3]);
    /* Four are taken of five; tests/extras/bag.c has the same orders. */
    for (const [seed, order] of [[1, [1, 4, 5, 7, 2, 3]],
                                 [2, [7, 3, 5, 4, 1, 2]],
                                 [3, [1, 5, 2, 4, 7, 3]]]) {
        bag = new Bag([7, 7, 7, 7, 7, 1, 2, 3, 4, 5], { seed });
        for (let i = 0; i < 4; i++)
            bag.take(7);
        same(draws(bag, 6), order);
    }
}

function bag_errors(bag) {
    const refused = (call, error) => {
        const items = [...bag.items];
        refuses(bag, call, error);
        same([...bag.items], items);
    };
    for (const item of [-1, 2 ** 32, 0.5, "7", null, undefined, NaN]) {
        refused(() => bag.add(item), /^RangeError: an item/);
        refused(() => bag.remove(item), /^RangeError: an item/);
        refused(() => new Bag([1, item]), /^RangeError: an item/);
    }
    for (const steps of [0.5, "1", null, undefined, NaN, Infinity])
        refused(() => bag.walk(steps), /^RangeError: steps/);
    refused(() => bag.remove(63), /^RangeError: 63 is not in the bag/);
    for (const item of [-1, 2 ** 32, 0.5, "7", null, undefined, NaN]) {
        refused(() => bag.take(item), /^RangeError: an item/);
        refused(() => bag.hold(item), /^RangeError: an item/);
        refused(() => bag.discard(item), /^RangeError: an item/);
        if (item !== undefined)
            refused(() => bag.load(bag.save(), item), /^RangeError: held/);
    }
    const mine = bag.draw();
    bag.hold(mine);
    const [other] = bag.items.filter((item) => item !== mine);
    refused(() => bag.take(63), /^RangeError: 63 is not in the bag/);
    refused(() => bag.take(mine), /^RangeError: \d+ is in a hand/);
    refused(() => bag.hold(mine), /^RangeError: \d+ did not come from this/);
    refused(() => bag.discard(other), /^RangeError: \d+ is in no hand/);
    refused(() => bag.load(bag.save()), /^RangeError: this state was not/);
    bag.discard(mine);
    refused(() => bag.discard(mine), /^RangeError: \d+ is in no hand/);
    refused(() => new Bag([], { seed: 2 ** 32 }), /^RangeError: seed/);
    refused(() => new Bag([], { sed: 1 }), /^TypeError: a field/);
    refused(() => new Bag(new Uint8Array(2 ** 24)), /^RangeError: a bag/);
    for (const items of [52, { a: 1 }, null, undefined])
        refused(() => new Bag(items), /^TypeError: items must be an array/);
    for (const sources of [5, { a: 1 }, null, undefined])
        refused(() => new Mix(sources), /^TypeError: sources must be an array/);
    /* Damaged, of other items, of another size, and forged. */
    const wrong = /^RangeError: this state was not saved with these items/;
    const state = bag.save();
    for (let bit = 0; bit < 128; bit++) {
        const damaged = state.slice();
        damaged[bit >> 3] ^= 1 << (bit & 7);
        refused(() => bag.load(damaged), wrong);
    }
    refused(() => bag.load(new Bag([1, 2]).save()), wrong);
    refused(() => new Bag([...bag.items, 1]).load(state), wrong);
    for (const size of [0, 3, 15, 17, 112])
        refused(() => bag.load(new Uint8Array(size)), wrong);
    for (const other of [null, "state", [...state], new Uint32Array(4)])
        refused(() => bag.load(other), TypeError);
    /* Drawn 2 with a base of 3, 3 of 2, and 3 steps back of 2, with every check
       word. */
    const two = new Bag([1, 2]);
    Error.stackTraceLimit = 0; /* a trace would take most of the time */
    for (const forged of ["0000000000000000020000030000",
                          "0000000000000000030000020000",
                          "0000000000000003020000020000"])
        for (let state = unhex(forged + "0000"), check = 0; check < 65536;
             check++) {
            new DataView(state.buffer).setUint16(14, check);
            let said = null;
            try {
                two.load(state);
            } catch (error) {
                said = String(error);
            }
            if (!wrong.test(said))
                assert.fail(`${hex(state)}: ${said}`);
        }
    Error.stackTraceLimit = 10;
}

/* --- numbers and arrays --------------------------------------------------- */

test("numbers and arrays", () => {
    const huge = new Sampler({ numSamples: 2n ** 53n + 1n, bigint: true });
    refuses(huge, () => huge.next(new Float64Array(1)),
            /indices of 9007199254740993 samples do not fit in a Float64/);
    for (const [n, kind] of [[1000, Uint32Array], [2 ** 32, Uint32Array],
                             [2 ** 32 + 1, Float64Array],
                             [2 ** 52 + 5, Float64Array]]) {
        const desc = { numSamples: n, seed: 3, batchSize: 20 };
        const numbers = new Sampler(desc);
        const wide = new Sampler({ ...desc, bigint: true });
        const at = numbers.at(7);
        same(at.constructor, kind);
        same(Array.from(at, BigInt), Array.from(wide.at(7)));
        const doubles = new Float64Array(30);
        same(numbers.at(7, doubles).length, 20);
        same(Array.from(doubles.subarray(0, 20)), Array.from(at));
        numbers.at(7, doubles.subarray(9, 29));
        same(Array.from(doubles.subarray(9, 29)), Array.from(at));
        const first = numbers.next();
        numbers.next();
        same(first, new Sampler(desc).next(), "a batch is one's own");
        same(typeof wide.step, "bigint");
        same(numbers.numSteps, Math.ceil(n / 20));
        if (n > 2 ** 32)
            refuses(numbers, () => numbers.at(7, new Uint32Array(20)),
                    /samples do not fit in a Uint32Array/);
        same(wide.locate(5).position,
             BigInt(new Perm(n, { seed: 3 }).inverse(5)));
    }
    const far = new Sampler({ numSamples: 2n ** 62n, bigint: true });
    same(far.next().length, 1);
    same(far.at(2n ** 62n - 1n).length, 1);
    const endless = new Sampler({ numSamples: 5, tail: "carry", batchSize: 3 });
    same(endless.numSteps, Infinity);
    same([endless.counts.steps, endless.counts.rankBatches],
         [Infinity, Infinity]);
    /* What looks like no end is a number where one has been given. */
    const last = 2n ** 64n - 1n;
    const late = new Mix([{ numSamples: 5, epoch: last, tail: "carry" }],
                         { stop: "never", bigint: true });
    same([late.progress(0).epoch, late.progress(0).numSteps], [last, Infinity]);
    same([endless.skip(), endless.skip(), endless.epoch], [true, true, 1]);
    /* A number may be a bigint, small ones as well. */
    const small = { rank: 1, worldSize: 2, batchSize: 3 };
    const large = { rank: 1n, worldSize: 2n, batchSize: 3n };
    const both = [small, large].map((fields) =>
        new Sampler({ ...fields, numSamples: 20 }));
    same(both[1].next(), both[0].next());
    both.forEach((one, i) => one.reshape({ ...[small, large][i], rank: 0n }));
    same([...both[1]], [...both[0]]);
    const mix = new Mix([{ numSamples: 9n, batchSize: 2n, weight: 2n },
                         { numSamples: 8n, weight: 1n }],
                        { rank: 0n, worldSize: 1n });
    same(mix.at(0).indices.length, 2);
    mix.weigh([1n, 3n]);
    mix.reshape({ rank: 0n, worldSize: 1n });
    same(mix.next().source, 1);
    same([mix.offset(1n), mix.offset(2n), mix.progress(0n)],
         [9, 17, mix.progress(0)]);
    same(mix.locate(1n, 5n), mix.locate(1, 5));
    const perm = new Perm(50000, { seed: 1, epoch: 2, stream: 3 });
    same(perm.fill(4n, 6n, 2n), perm.fill(4, 6, 2));
    const inverse = perm.fill(0, 50000).map((index) => perm.inverse(index));
    same(inverse, Uint32Array.from({ length: 50000 }, (_, i) => i));
    const audit = new Audit();
    audit.add(perm.fill(0, new Float64Array(25000)));
    audit.add(perm.fill(25000, new BigUint64Array(25000)));
    same(audit.check(50000), true);
    const copy = new Audit();
    copy.load(audit.save());
    copy.add(new Uint32Array(1));
    same([copy.count, copy.check(50000), audit.check(50000)],
         [50001, false, true]);
    /* What node reads from a file is a Buffer: it stays as it is, and so does
       what was saved. */
    const file = Buffer.from(audit.save()), was = hex(file);
    const two = [new Audit(), new Audit()];
    two.forEach((one) => one.load(file));
    const saved = two.map((one) => one.save());
    for (const one of two)
        one.add(new Uint32Array(1));
    same(two.map((one) => one.count), [50001, 50001]);
    same([file, ...saved].map(hex), [was, was, was], "an array is one's own");
    file.fill(0);
    same(two.map((one) => one.count), [50001, 50001]);
    const epochs = new Sampler({ numSamples: 10, batchSize: 4 });
    same([[...epochs].length, [...epochs].length, epochs.epoch], [3, 3, 2]);
    const uneven = new Sampler({ numSamples: 5, tail: "uneven", rank: 1,
                                 worldSize: 2 });
    same([[...uneven].map((batch) => batch.length), uneven.epoch],
         [[1, 1, 0], 1]);
});

/* An array of a class that makes parts of itself as it likes, and says what it
   likes of its length, is taken for what it is. */
test("arrays of classes of their own", () => {
    for (const Plain of [Uint32Array, Float64Array, BigUint64Array]) {
        class Own extends Plain {
            constructor(list) {
                super(list);
            }
        }
        class Liar extends Plain {
            get length() {
                return 1;
            }
        }
        for (const Kind of [Own, Liar]) {
            const s = new Sampler({ numSamples: 10, batchSize: 8 });
            const mix = new Mix([{ numSamples: 10, batchSize: 8 }]);
            const into = new Kind(8), want = [...s], first = s.at(0);
            s.seek(0);
            same(s.next(into), into);
            same(Array.from(into.values(), Number), [...first]);
            for (const part of [s.next(into), s.at(1, into),
                                mix.at(1, into).indices]) {
                same(part.constructor, Plain);
                same([part.buffer, part.byteOffset], [into.buffer, 0]);
                same(Array.from(part, Number), [...want[1]]);
            }
            const perm = new Perm(20000), all = new Kind(20000);
            same(perm.fill(0, all), all);
            same(Array.from(all.values(), Number), [...perm.fill(0, 20000)]);
            const audit = new Audit();
            audit.add(all);
            same([audit.count, audit.check(20000)], [20000, true]);
        }
    }
    class Bytes extends Uint8Array {
        get length() {
            return 32;
        }
    }
    const s = new Sampler({ numSamples: 10 }), audit = new Audit();
    s.skip();
    const other = new Sampler({ numSamples: 10 });
    other.load(new Bytes(s.save()));
    same(other.step, 1);
    refuses(audit, () => audit.load(new Bytes(s.save())), TypeError);
});

/* Room is for what a step has, however large batch_size is: in memory, and in
   an array to write to. A mix's turn is one of any of its sources. */
test("room for what a step has", FILES, () => {
    const most = 2 ** 32 - 1, before = memory.buffer.byteLength;
    for (const tail of ["pad", "uneven"]) {
        const all = { numSamples: 25, seed: 4, tail, worldSize: 2 };
        const want = [...new Sampler(all)].map(([index]) => index);
        same(want.length, 13);
        const s = new Sampler({ ...all, batchSize: most });
        same([...s.at(0)], want);
        same([...s.at(0, new Float64Array(13))], want);
        refuses(s, () => s.at(0, new Uint32Array(12)), /length 12 .* 13 ind/);
        refuses(s, () => s.next(new Uint32Array(12)), /length 12 .* 13 ind/);
        same([...s.next(new Uint32Array(13))], want);
        same([s.at(1, new Uint32Array(0)), s.next(new Uint32Array(0)), s.epoch],
             [null, null, 1]);
        s.seek(0);
        same(s.next().length, 13);
    }
    const s = new Sampler({ numSamples: 22, batchSize: 10 });
    s.seek(2);
    same(s.next(new Uint32Array(2)).length, 2);
    for (const stop of STOPS) {
        const mix = new Mix([{ numSamples: 5, batchSize: most },
                             { numSamples: 4, batchSize: 3, tail: "uneven" }],
                            { stop });
        refuses(mix, () => mix.next(new Uint32Array(4)), /length 4 .* 5 ind/);
        refuses(mix, () => mix.at(0, new Uint32Array(4)), /length 4 .* 5 ind/);
        same(mix.next(new Uint32Array(5)), mix.at(0));
        same([mix.next().indices.length, mix.turn], [3, 2]);
        if (stop === "all")
            same([mix.next(new Uint32Array(1)).indices.length,
                  mix.next(new Uint32Array(0)), mix.epoch], [1, null, 1]);
    }
    assert.ok(memory.buffer.byteLength - before <= 65536);
    /* With the tail carry a step has as many as it says. */
    const endless = new Sampler({ numSamples: 3, batchSize: most,
                                  tail: "carry" });
    refuses(endless, () => endless.next(), /do not fit in the memory/);
});

/* --- mixes ---------------------------------------------------------------- */

const three = [3, 4, 5].map((numSamples) => ({ numSamples, seed: 1 }));

test("mixes", () => {
    /* The manual's example. */
    same(["first", "all", "restart", "never"].map(
        (stop) => new Mix(three, { stop }).numTurns), [9, 12, 17, Infinity]);
    const options = { stop: "all" };
    const tail = "uneven";
    const mix = new Mix([{ numSamples: 40, weight: 3, batchSize: 2, tail },
                         { numSamples: 30, weight: 1, stream: 5, tail },
                         { numSamples: 20, weight: "off", tail }], options);
    const seen = [new Audit(), new Audit(), new Audit()];
    const want = [...new Array(mix.numTurns).keys()].map((t) => mix.at(t));
    for (let turn = 0; turn < 20; turn++) {
        const { source, indices } = mix.next();
        seen[source].add(indices);
        same({ source, indices }, want[turn]);
    }
    same(seen.map((audit) => audit.count), [30, 5, 0]); /* 3 : 1, of 2 and 1 */
    same(mix.save().length, 48 + 3 * 120);
    /* On two ranks, and with the third source. */
    const ranks = [0, 1].map((rank) => {
        const other = new Mix([{ numSamples: 40, batchSize: 2, tail },
                               { numSamples: 30, stream: 5, tail },
                               { numSamples: 20, tail }],
                              { stop: "all", rank, worldSize: 2 });
        other.load(mix.save());
        other.weigh([1, 1, 1]);
        return other;
    });
    for (const rank of ranks)
        for (const { source, indices } of rank)
            seen[source].add(indices);
    same(seen.map((audit, i) => audit.check([40, 30, 20][i])),
         [true, true, true]);
    mix.weigh([1, "off", 1]);
    const place = mix.locate(2, 7);
    same(mix.at(place.turn), { source: 2, indices: Uint32Array.of(7) });
    same([mix.offset(1), mix.offset(3)], [40, 90]);
    same(mix.progress(2), { epoch: 0, step: 0, numSteps: 20, position: 0 });
    /* A source answers as a sampler of its description does. */
    const padded = { numSamples: 10, seed: 3, stream: 4, batchSize: 3 };
    const shape = { rank: 1, worldSize: 3 };
    const alone = new Sampler({ ...padded, ...shape });
    for (const bigint of [false, true]) {
        const both = new Mix([{ numSamples: 5 }, padded], { ...shape, bigint });
        const { counts } = new Sampler({ ...padded, ...shape, bigint });
        same(both.counts(1), counts);
        same([0, 1, 2].map((step) => both.padding(1, step)), [0, 1, 0]);
        same(both.padding(0, 1), 0);
        same(both.sampleSeed(1, 2, 5), alone.sampleSeed(2, 5));
        assert.notEqual(both.sampleSeed(0, 2, 5), alone.sampleSeed(2, 5));
    }
    same([0, 1, 2].map((step) => alone.padding(step)), [0, 1, 0]);
    const before = hex(mix.save());
    for (const wrong of [-1, 3, "0", undefined])
        for (const call of [() => mix.counts(wrong),
                            () => mix.padding(wrong, 0),
                            () => mix.sampleSeed(wrong, 0, 0)])
            refuses(mix, call, /^RangeError: source must be/);
    same(hex(mix.save()), before);
});

/* --- what is wrong -------------------------------------------------------- */

/* Throws, says so, and leaves the object as it was. */
function refuses(thing, call, expected, what) {
    const before = thing && hex(thing.save());
    checks++;
    assert.throws(call, expected, what);
    if (thing)
        same(hex(thing.save()), before);
}

/* Samples that are appended when padding has filled the last step: padding is
   no sample, so the new ones follow the old ones on all ranks. */
test("samples that are appended", () => {
    for (const [bigger, more] of [[10, 5], [6, 1], [100, 95]]) {
        const ranks = Array.from({ length: 4 }, (_, rank) => new Sampler({
            numSamples: 5, rank, worldSize: 4, batchSize: 2,
            order: "sequential" }));
        for (const one of ranks)
            one.next();
        same(ranks.map((one) => one.position), [8, 8, 8, 8]);
        ranks.forEach((one) => one.resize(bigger));
        const states = new Set(ranks.map((one) => hex(one.save())));
        same(states.size, 1, "all ranks agree");
        const served = [];
        for (const one of ranks)
            for (const batch of one) {
                const padded = one.padding(one.step - 1);
                served.push(...batch.subarray(0, batch.length - padded));
            }
        served.sort((a, b) => a - b);
        same(served, Array.from({ length: more }, (_, i) => 5 + i));
    }
    const s = new Sampler({ numSamples: 5, worldSize: 4, batchSize: 2,
                            order: "sequential" });
    s.next();
    refuses(s, () => s.resize(4), { kind: "ERANGE" });
    refuses(s, () => s.resize(0), { kind: "ERANGE" });
});

/* What is wrong may be as long as it likes, or throw when it is looked at: an
   error says of what kind it is, in a line. */
function huge_values(s) {
    const long = "x".repeat(1e6), mix = new Mix(three), all = new Audit();
    const bag = new Bag([1, 2]), ledger = new Ledger({ window: 64 });
    const fails = () => {
        throw new Error("by a Proxy");
    };
    const throws = new Proxy({}, Object.fromEntries(
        Object.getOwnPropertyNames(Reflect).map((name) => [name, fails])));
    const { proxy: revoked, revoke } = Proxy.revocable([], {});
    revoke();
    for (const huge of [
        long, Symbol(long), 10n ** 100000n, -(10n ** 100000n),
        Array(1e6).fill(long), new Uint16Array(1e6), new Uint8ClampedArray(1e6),
        { toString: () => long }, { [Symbol.toStringTag]: long },
        { [long]: long }, Object(long), new Error(long), throws, revoked,
        new Function(`/* ${long} */`), RegExp(long)])
        for (const call of [
            () => new Sampler({ numSamples: huge }),
            () => new Sampler({ numSamples: 9, seed: huge }),
            () => new Sampler({ numSamples: 9, order: huge }),
            () => new Sampler({ numSamples: 9, dropLast: huge }),
            () => new Sampler({ numSamples: 9, bigint: huge }),
            () => new Sampler({ numSamples: 9, [long]: 1 }),
            () => new Perm(huge), () => new Perm(9).at(huge),
            () => new Perm(9).fill(huge, 1), () => new Perm(9).fill(0, huge),
            () => new Mix([{ numSamples: 9, weight: huge }]),
            () => new Mix(three, { stop: huge }),
            () => new Bag([huge]),
            () => new Bag([1], { seed: huge }),
            () => bag.add(huge), () => bag.remove(huge), () => bag.walk(huge),
            () => bag.load(huge), () => new Ledger({ window: huge }),
            () => new Ledger({ window: 64, end: huge }),
            () => ledger.done(huge), () => ledger.load(huge),
            () => s.next(huge), () => s.at(huge), () => s.at(0, huge),
            () => s.seek(huge), () => s.begin(huge), () => s.setEpoch(huge),
            () => s.padding(huge), () => s.locate(huge),
            () => s.sampleSeed(huge, 0), () => s.resize(huge),
            () => s.reshape({ rank: huge, worldSize: 1 }), () => s.load(huge),
            () => describeState(huge), () => library.describeMix(huge, 0),
            () => mix.next(huge), () => mix.at(huge), () => mix.seek(huge),
            () => mix.weigh([huge, 1, 1]), () => mix.offset(huge),
            () => mix.progress(huge), () => mix.load(huge),
            () => all.add(huge), () => all.merge(huge), () => all.load(huge),
            () => all.check(huge)])
            refuses(null, call, ({ message }) => message.length < 300,
                    String(call));
    /* A description that throws is its own user's error. */
    for (const huge of [long, Symbol(long), 10n ** 100000n])
        for (const call of [() => new Sampler(huge), () => new Mix([huge]),
                            () => new Bag(huge), () => mix.weigh(huge),
                            () => s.reshape(huge)])
            refuses(null, call, ({ message }) => message.length < 300,
                    String(call));
}

test("what is wrong", () => {
    const is = (code, message) =>
        ({ name: "StatesamplerError", code, message });
    const s = new Sampler({ numSamples: 100, batchSize: 8 });
    s.next();
    refuses(null, () => new Sampler({ numSamples: 10, rank: 2, worldSize: 2 }),
            is(-102, "rank is not below world_size"));
    for (const [, name, hundreds] of
        header.matchAll(/^#define STATESAMPLER_(E\w+) \(-(\d)00\)$/gm))
        same(new StatesamplerError(-100 * hundreds - 1).kind,
             hundreds <= 5 ? name : undefined);
    refuses(null, () => new Sampler({ numSamples: 10, order: "window" }),
            { code: -108 });
    refuses(null, () => new Sampler({ numSamples: 2n ** 63n, bigint: true }),
            { code: -101 });
    refuses(null, () => new Sampler({ numSamples: 2n ** 53n }),
            /numSamples is above 2\^53 - 1/);
    refuses(null, () => new Sampler({ num_samples: 10 }), TypeError);
    refuses(null, () => new Sampler({ numSamples: 10, tail: "even" }),
            /one of pad, drop, uneven, carry/);
    for (const numSamples of [-1, 0.5, NaN, "10", undefined, 2 ** 53,
                              2n ** 53n, 2n ** 64n, null])
        refuses(null, () => new Sampler({ numSamples }), RangeError);
    /* What was given, so that "100" is told from 100. */
    for (const [given, said] of [["100", '"100"'], [[100], "[object Array]"],
                                 [null, "null"], [undefined, "undefined"],
                                 [Object.create(null), "[object Object]"],
                                 [Symbol("n"), "Symbol(n)"], [0.5, "0.5"],
                                 [new Number(5), "[object Number]"]]) {
        const ends = ({ message }) => message.endsWith(", not " + said);
        refuses(null, () => new Sampler({ numSamples: given }), ends);
        refuses(s, () => s.seek(given), ends);
        refuses(s, () => s.load(given), ends);
        if (given === undefined)
            continue; /* what follows may be left out */
        refuses(null, () => new Sampler({ numSamples: 9, order: given }), ends);
        refuses(s, () => s.next(given), ends);
        if (Object(given) !== given)
            refuses(null, () => new Sampler(given), ends);
    }
    huge_values(s);
    refuses(null, () => new Sampler(null), TypeError);
    refuses(s, () => s.seek(14), { code: -202 });
    const whole = (most, given) => ({ message }) => message.endsWith(
        ` from 0 to ${most} (a bigint from 2^53 on), not ${given}`);
    refuses(s, () => s.seek(2 ** 53), whole("2^64 - 1", "9007199254740992"));
    for (const wrong of [2 ** 53, -1n, 2n ** 64n]) {
        const said = whole("2^62", wrong);
        refuses(null, () => new Sampler({ numSamples: wrong }), said);
        refuses(null, () => new Perm(wrong, { bigint: true }), said);
        refuses(s, () => s.resize(wrong), said);
    }
    refuses(s, () => s.reshape({ rank: "1" }), /to 2\^32 - 1, not "1"$/);
    refuses(s, () => s.locate(100), { code: -204 });
    refuses(s, () => s.reshape({ rank: 9, worldSize: 1 }), { code: -102 });
    /* Left out, they would make every rank the first of one. */
    for (const fields of [{ batchSize: 1 }, { rank: 0 }, { worldSize: 4 }])
        refuses(s, () => s.reshape(fields), /^RangeError: (rank|worldSize)/);
    refuses(s, () => s.resize(200), { code: -142 });
    refuses(s, () => s.next(new Uint32Array(7)), RangeError);
    refuses(s, () => s.next([]), TypeError);
    refuses(s, () => s.next(new Uint16Array(8)), TypeError);
    /* Only undefined is no array: what else is false, is one that is wrong. */
    for (const wrong of [0, -0, 0n, NaN, false, "", null]) {
        const mix = new Mix(three), all = new Audit();
        refuses(s, () => s.next(wrong), /^TypeError: an array of indices/);
        refuses(s, () => s.at(1, wrong), /^TypeError: an array of indices/);
        refuses(mix, () => mix.next(wrong), /^TypeError: an array of indices/);
        refuses(mix, () => mix.at(1, wrong), /^TypeError: an array of indices/);
        refuses(all, () => all.add(wrong), /^TypeError: an array of indices/);
    }
    same(s.at(1, undefined), s.at(1));
    /* One that is detached has no memory, also where none is needed. */
    const empty = { numSamples: 1, worldSize: 3, rank: 2, tail: "uneven" };
    for (const Kind of [Uint32Array, Float64Array, BigUint64Array]) {
        const gone = new Kind(8), all = new Audit();
        structuredClone(gone, { transfer: [gone.buffer] });
        for (const one of [new Sampler(empty), s, new Mix([{ numSamples: 1 }]),
                           new Mix([{ numSamples: 1, tail: "uneven" }],
                                   { worldSize: 3, rank: 2 })]) {
            refuses(one, () => one.next(gone), /^TypeError: .*detached/);
            refuses(one, () => one.at(0, gone), /^TypeError: .*detached/);
        }
        refuses(all, () => all.add(gone), /^TypeError: .*detached/);
        refuses(null, () => new Perm(9).fill(0, gone),
                /^TypeError: .*detached/);
    }
    const lost = s.save();
    structuredClone(lost, { transfer: [lost.buffer] });
    refuses(s, () => s.load(lost), /^TypeError: .*detached/);
    /* A method is for the objects of its class. */
    const four = [s, new Mix(three), new Perm(9), new Audit()];
    const before = four.map((one) => one.save && hex(one.save()));
    const gifts = [1, s.save(), new Audit().save(), new Audit(),
                   new Uint32Array(8), { rank: 0, worldSize: 1 }];
    for (const { constructor } of four) {
        const { constructor: _, ...members } =
            Object.getOwnPropertyDescriptors(constructor.prototype);
        for (const other of four.filter((one) => !(one instanceof constructor)))
            for (const [name, { value, get = value }]
                of Object.entries(members))
                for (const gift of gifts)
                    refuses(null, () => get.call(other, gift, 1), Error, name);
    }
    same(four.map((one) => one.save && hex(one.save())), before);
    refuses(s, () => s.load(new Uint8Array(111)), { code: -302 });
    refuses(s, () => s.load(s.save().subarray(0, 111)), { code: -301 });
    refuses(s, () => s.load("state"), TypeError);
    for (let byte = 0; byte < 112; byte++) {
        const forged = s.save();
        forged[byte] ^= 1;
        refuses(s, () => s.load(forged), StatesamplerError);
    }
    refuses(s, () => s.load(new Sampler({ numSamples: 99 }).save()),
            { code: -501 });
    const huge = new Sampler({ numSamples: 2 ** 40, batchSize: 2 ** 31 });
    refuses(huge, () => huge.next(), /do not fit in the memory/);
    same(huge.locate(5).rank, 0);
    const mix = new Mix(three);
    mix.next();
    refuses(null, () => new Mix([]), { code: -120 });
    refuses(null, () => new Mix(three, { stop: "never", rank: 1 }),
            { code: -102 });
    refuses(mix, () => mix.weigh(["off", "off", "off"]), { code: -124 });
    refuses(mix, () => mix.weigh([1, 1]), RangeError);
    refuses(mix, () => mix.locate(3, 0), { code: -207 });
    refuses(mix, () => mix.progress(3), RangeError);
    refuses(mix, () => mix.load(s.save()), { code: -302 });
    const perm = new Perm(10);
    for (const call of [() => perm.at(10), () => perm.inverse(10),
                        () => perm.fill(5, 6), () => perm.at(-1),
                        () => perm.fill("x", 0), () => perm.fill(-1, 0),
                        () => perm.fill(null, new Uint32Array(0))])
        refuses(null, call, RangeError);
    refuses(null, () => perm.fill(0, null), TypeError);
    same(perm.fill(10, 0).length, 0);
    /* What an object says of itself can only be read, and so can the words. */
    for (const [thing, name, value] of [
        [perm, "numSamples", 1000], [s, "numSamples", 1000],
        [perm, "bigint", true], [s, "bigint", true], [mix, "bigint", true],
        [ORDERS, 0, "sequential"], [PARTITIONS, 0, "blocked"],
        [TAILS, 0, "carry"], [STOPS, 0, "all"]]) {
        const was = thing[name];
        refuses(null, () => { thing[name] = value; }, TypeError);
        same(thing[name], was);
    }
    refuses(null, () => perm.at(10), RangeError);
    /* Nothing stands for false but false, and no field that is left out. */
    for (const bigint of [null, 0, 0n, "", NaN]) {
        refuses(null, () => new Perm(3, { bigint }), /bigint must be/);
        refuses(null, () => new Mix(three, { bigint }), /bigint must be/);
        refuses(null, () => new Sampler({ numSamples: 3, bigint }),
                /bigint must be/);
    }
    for (const bigint of [undefined, false, true])
        same([new Perm(3, { bigint }), new Mix(three, { bigint }),
              new Sampler({ numSamples: 3, bigint })].map((one) => one.bigint),
             new Array(3).fill(bigint ?? false));
    /* What is wrong is named, also behind much that is right. */
    for (const fields of [null, undefined, 3, { world_size: 3 }, { bigint: 1 }])
        refuses(s, () => s.reshape(fields), TypeError);
    for (const rank of [-1, 0.5, NaN, 2 ** 32, -1n, 2n ** 32n, "0", null])
        refuses(s, () => s.reshape({ rank }), /^RangeError: rank/);
    for (const weight of [-1n, 2n ** 32n])
        refuses(mix, () => mix.weigh([weight, 1, 1]), /^RangeError: weight/);
    for (const source of [-1n, 3n, 2n ** 32n])
        refuses(mix, () => mix.progress(source), /^RangeError: .*source/);
    for (const fields of [{ world_size: 3 }, { batchSize: 3 }])
        refuses(mix, () => mix.reshape(fields), /a field must be/);
    refuses(mix, () => mix.reshape({}), /^RangeError: rank/);
    for (const name of ["rank", "worldSize", "bigint"])
        refuses(null, () => new Mix([{ numSamples: 3, [name]: 1 }]),
                /a field must be/);
    refuses(null, () => new Sampler({ numSamples: 3, bigint: "no" }),
            /bigint must be .*, not "no"/);
    const audit = new Audit(), much = new Float64Array(20000);
    for (const index of [0.5, -1, NaN, Infinity, 2 ** 53]) {
        much[19999] = index;
        refuses(audit, () => audit.add(much), RangeError);
    }
    for (const indices of [undefined, null, [1], new Uint8Array(1), 5])
        refuses(audit, () => audit.add(indices), TypeError);
    for (const other of [undefined, {}, s])
        refuses(audit, () => audit.merge(other), TypeError);
    for (const call of [() => audit.add([1, 2]), () => s.next([])])
        refuses(s, call,
                /^TypeError: an array of indices must be a Uint32Array/);
    /* What an array calls itself does not make it one. */
    const tag = (value) => ({ [Symbol.toStringTag]: { value } });
    for (const into of [Object.defineProperties({ length: 8 },
                                                tag("Uint32Array")),
                        Object.defineProperties(new Uint16Array(8),
                                                tag("Uint32Array"))])
        refuses(s, () => s.next(into), /^TypeError: an array of indices/);
    refuses(s, () => s.load(Object.defineProperties({ length: 112 },
                                                    tag("Uint8Array"))),
            /^TypeError: a state/);
    /* A field is read once: what was checked is what is used. */
    let reads = 0;
    const fickle = { numSamples: 1e5,
                     get batchSize() { return reads++ ? 1 : 9000; } };
    same(new Sampler(fickle).next().length, 9000);
    same(reads, 1);
    const ranks = { worldSize: 4, get rank() { return reads++; } };
    same(new Mix(three, ranks).locate(2, 1).rank,
         new Mix(three, { rank: 1, worldSize: 4 }).locate(2, 1).rank);
    same(reads, 2);
    /* Fields may be a class's, and are seen there as well. */
    class Fields {
        get numSamples() { return 10; }
        get batchSize() { return 4; }
    }
    class Misspelt extends Fields {
        get seeds() { return 1; }
    }
    same([...new Sampler(new Fields())],
         [...new Sampler({ numSamples: 10, batchSize: 4 })]);
    same([...new Mix([new Fields()])],
         [...new Mix([{ numSamples: 10, batchSize: 4 }])]);
    for (const fields of [new Misspelt(), Object.create({ seeds: 1 }),
                          Object.create(new Misspelt()),
                          Object.assign(Object.create(null), { seeds: 1 })]) {
        refuses(null, () => new Sampler(fields), /a field .* not "seeds"/);
        refuses(null, () => new Perm(1, fields), /a field .* not "seeds"/);
        refuses(null, () => new Mix([fields]), /a field .* not "seeds"/);
        refuses(null, () => new Mix(three, fields), /a field .* not "seeds"/);
        refuses(s, () => s.reshape(fields), /a field .* not "seeds"/);
    }
    same(new Sampler(Object.assign(Object.create(null), { numSamples: 3 }))
         .numSamples, 3);
    /* Another realm's objects, as in an iframe or in some test runners. */
    const other = runInNewContext(
        "({ fields: { numSamples: 100 }, indices: new Uint32Array(100)," +
        "   state: new Uint8Array(112) })");
    other.state.set(s.save());
    s.load(other.state);
    same(new Sampler(other.fields).at(3, other.indices).length, 1);
    same(describeState(other.state).numSamples, 100n);
    /* A state may lie anywhere in a buffer. */
    const odd = new Uint8Array(120);
    odd.set(s.save(), 3);
    s.load(odd.subarray(3, 115));
    same(hex(s.save()), hex(odd.subarray(3, 115)));
    refuses(audit, () => audit.load(new Uint8Array(31)), TypeError);
});

/* --- where it is used ----------------------------------------------------- */

/* In a folder with nothing else, in a worker, and bundled for a page or for
   node, where esbuild is there: the .wasm lies beside what is run. */
test("in a folder of its own, in a worker, bundled", SIMD, () => {
    const folder = fs.mkdtempSync((process.env.TMPDIR ?? "/tmp") + "/used");
    const run = (program, ...options) => {
        const { status, stdout, stderr, error } = spawnSync(
            program, options, { cwd: folder, encoding: "utf8" });
        if (error?.code === "ENOENT")
            return null;
        assert.equal(status, 0, stderr);
        return stdout;
    };
    for (const name of fs.readdirSync("build/web"))
        if (name.startsWith("statesampler"))
            fs.copyFileSync("build/web/" + name, folder + "/" + name);
    fs.writeFileSync(folder + "/app.mjs", `
        import { Sampler } from "./statesampler.mjs";
        console.log(String(new Sampler({ numSamples: 9, batchSize: 9 }).next()))
    `);
    fs.writeFileSync(folder + "/worker.mjs", `
        import { Worker } from "node:worker_threads";
        new Worker(new URL("app.mjs", import.meta.url));
    `);
    const want = new Sampler({ numSamples: 9, batchSize: 9 }).next() + "\n";
    same(run("node", "app.mjs"), want);
    same(run("node", "worker.mjs"), want);
    for (const platform of ["browser", "node"])
        if (run("esbuild", "app.mjs", "--bundle", "--format=esm",
                "--log-level=error", "--platform=" + platform,
                "--outfile=bundle.mjs") !== null)
            same(run("node", "bundle.mjs"), want);
    /* Bundlers that take the .wasm along see its name in such words only. */
    const words = /new URL\("\.\/([\w.-]+)", ?import\.meta\.url\)/g;
    const text = fs.readFileSync(folder + "/statesampler.mjs", "utf8");
    same(Array.from(text.matchAll(words), ([, name]) => name).sort(),
         ["statesampler-simd.wasm", "statesampler.wasm"]);
    /* Before 20.16 node has no such function. */
    fs.writeFileSync(folder + "/old.mjs", `
        delete process.getBuiltinModule;
        await import("./app.mjs");
    `);
    same(run("node", "old.mjs"), want);
    fs.rmSync(folder, { recursive: true });
});

/* --- declarations --------------------------------------------------------- */

/* All that there is at run time is declared. That types.mts, which uses all of
   it, compiles is the compiler's question. */
test("all there is is declared", SIMD, () => {
    const text = fs.readFileSync("build/web/statesampler.d.mts",
                                 "utf8");
    for (const [name, value] of Object.entries(library)) {
        assert.match(
            text, new RegExp(`export (class|const|function) ${name}\\b`));
        for (const member of Object.getOwnPropertyNames(value.prototype ?? {})
            .filter((one) => one !== "constructor"))
            assert.match(text, new RegExp(`\\b${member}\\b`), member);
        checks++;
    }
    same(library.version, header.match(/ - v([\d.]+) - /)[1]);
});

after(() => console.log(`note: ${checks} checks`));
