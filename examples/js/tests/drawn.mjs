/* drawn.mjs - the JavaScript module, asked with drawn inputs, of which half
   are not what is declared:

       node examples/js/tests/drawn.mjs build/web/statesampler.mjs ROUNDS [SEED]

   Whatever is asked, it answers, or throws an Error that says why and nothing
   has changed: the next batch is the one that `at` says, locate names the
   place of each sample in it, what was sought is where it is, a fill is `at`,
   one by one, a state restores the same and describes its run, counts are what
   the steps sum up to, the iterator serves the steps that are left, an audit
   knows what is whole, what was given, either way, stays as it is, nothing
   takes two seconds, and WebAssembly never breaks down.
   Prints how many calls there were and how many were taken.
   A call that never ends is found by who runs this with a limit. */
import assert from "node:assert/strict";
import path from "node:path";
import test from "node:test";
import { begin, random, x } from "./random.mjs";

const { Sampler, Mix, Perm, Audit, StatesamplerError, describeState, ORDERS,
        PARTITIONS, TAILS, STOPS } =
    await import(path.resolve(process.argv[2]));
const rounds = Number(process.argv[3]), seed = BigInt(process.argv[4] ?? 1);
assert.ok(rounds > 0, "so many rounds, above 0");

begin(seed);
const one_of = (list) => list[random(list.length)];
const often = () => random(8) > 0;

/* --- What goes in --------------------------------------------------------- */

const ODD = [undefined, null, NaN, -1, 0.5, -0, Infinity, 2 ** 31, 2 ** 32,
             2 ** 53, 2 ** 62, 2 ** 64, 1e300, -1n, 2n ** 62n, 2n ** 62n + 1n,
             2n ** 64n - 1n, 2n ** 64n, 0n, "", "7", "shuffle", true, false, [],
             [3], {}, () => 3, Symbol("odd"), new Date(3), new Uint8Array(3),
             new Float32Array(4), new DataView(new ArrayBuffer(8)),
             { [Symbol.toStringTag]: "Uint32Array", length: 4000 },
             { valueOf() { throw new Error("valueOf"); } }];
const SIZES = [0, 1, 2, 7, 100, 1000, 65537, 2 ** 32 - 1, 2 ** 32, 2 ** 40,
               2 ** 53 - 1, 2n ** 61n];
const whole = () => one_of([random(10), random(5000), BigInt(random(5000)),
                            one_of(SIZES)]);
const odd_or = (good) => often() ? good() : one_of(ODD);
/* Small numbers may be bigints as well. */
const small = (bound, least = 0) =>
    one_of([Number, BigInt])(least + random(bound));
const word_of = (list) => odd_or(() => one_of(list));

/* Arrays of classes that make their parts, and tell their length, wrongly. */
const KINDS = [Uint32Array, Float64Array, BigUint64Array];
const OWN = KINDS.map((kind) => class extends kind {
    constructor(what) {
        super(what);
    }
    get length() {
        return 3;
    }
});

/* Those whose memory is elsewhere now. */
const detached = new WeakSet();

function room() {
    const array = new (one_of([...KINDS, ...OWN]))(one_of([random(40), 9000]));
    if (random(20) === 0) {
        structuredClone(array, { transfer: [array.buffer] });
        detached.add(array);
    }
    return one_of([undefined, array, array, array, array, one_of(ODD)]);
}

/* How many there are, whatever it says. */
const length_of = (array) =>
    Reflect.get(Uint8Array.prototype, "length", array);

/* What writes and reads indices: nothing else is one, whatever it is. */
const is_room = (what) =>
    KINDS.some((kind) => what instanceof kind) && !detached.has(what);

/* A state, as it is saved or as node reads it from a file. */
const read = (state) => random(2) ? state : Buffer.from(state);

function description() {
    const desc = { numSamples: odd_or(whole) };
    for (const [name, value] of Object.entries({
        seed: whole, epoch: whole, stream: whole, bigint: () => random(2) > 0,
        rank: () => small(3), worldSize: () => small(4, 1),
        batchSize: () => small(40, 1), order: () => one_of(ORDERS),
        partition: () => one_of(PARTITIONS), tail: () => one_of(TAILS),
        dropLast: () => random(2) > 0 }))
        if (random(2) > 0)
            desc[name] = odd_or(value);
    if (desc.order === "window")
        Object.assign(desc, { chunkSize: odd_or(() => 1 + random(9)),
                              window: odd_or(() => 1 + random(9)) });
    if (random(30) === 0)
        desc[one_of(["batch_size", "Rank", "worldsize"])] = 1;
    return desc;
}

/* --- What comes out ------------------------------------------------------- */

let calls = 0, taken = 0;

/* The answer of a call, or undefined where it was refused. */
function ask(what, call) {
    const begin = performance.now();
    calls++;
    try {
        const answer = call();
        taken++;
        return answer;
    } catch (error) {
        assert.ok(error instanceof StatesamplerError ||
                  error instanceof RangeError || error instanceof TypeError ||
                  error.message === "valueOf", `${what}: ${error.stack}`);
        assert.ok(error.message.length > 5, `${what}: ${error.stack}`);
        assert.doesNotMatch(error.message, /call stack|Cannot read prop/, what);
        return undefined;
    } finally {
        const took = performance.now() - begin;
        assert.ok(took < 2000, `${what} takes ${took} ms`);
    }
}

const list = (answer) => answer === null || answer === undefined ? answer
    : Array.from(answer.indices ?? answer, String).join();
const hex = (bytes) => Buffer.from(bytes).toString("hex");

/* An answer is one's own, and so is what was given: the last ones before this
   one are as they were. */
const kept = [];
function keep(array) {
    for (const [one, text] of kept)
        assert.equal(list(one), text, "an array is one's own");
    kept.push([array, list(array)]);
    if (kept.length > 4)
        kept.shift();
    return array;
}

/* All that an object answers where it stands. */
function answers_of(object) {
    const found = ["bigint", "numSamples", "epoch", "step", "turn", "numSteps",
                   "numTurns", "position"]
        .map((name) => ask(name, () => object[name]));
    const next = ask("at", () => object.at(object.step ?? object.turn));
    const counts = ask("counts", () => object.counts);
    return [hex(object.save()), list(next), ...found,
            ...Object.values(counts ?? {})].map(String).join(" ");
}

/* Calls that may change an object, and do so only where they do not throw. A
   call returns what must then be so of the object, by name. What an object
   keeps and does not answer is the batchSize of a reshape without one. */
function moved(object, { rank, worldSize }, changes) {
    const before = answers_of(object);
    const [name, call] = one_of(changes);
    const now = ask(name, () => call() ?? {});
    if (!now) {
        assert.equal(answers_of(object), before, `${name} changed something`);
        object.reshape({ rank, worldSize });
        assert.equal(answers_of(object), before, `${name} changed the shape`);
    }
    for (const [what, wanted] of Object.entries(now ?? {})) {
        /* A number above 2^53 - 1 cannot be asked for. */
        const found = ask(what, () => object[what]);
        if (found !== undefined)
            assert.equal(String(found), String(wanted), `${what} by ${name}`);
    }
}

/* The place of one sample of a batch that comes next: where locate finds it, if
   the position is of a sample, and none repeats. `start` is where its sampler
   is: { position, step, ... }. */
function served(indices, start, { n, rank, worldSize, order }, locate) {
    if (!indices?.length)
        return;
    const slot = random(indices.length);
    const at = BigInt(start.position) + BigInt(rank) +
               BigInt(slot) * BigInt(worldSize);
    const place = ask("locate", () => locate(indices[slot]));
    if (order === "replacement") {
        assert.equal(place, undefined, "a sample may come again");
    } else if (at < BigInt(n)) {
        assert.ok(place, "a sample that is served is located");
        for (const [name, wanted] of Object.entries({ ...start, position: at,
                                                      rank, slot }))
            assert.equal(String(place[name]), String(wanted), name);
    }
}

/* How much of the coming batch of a sampler is past the samples. */
function padded(sampler, shape, batch, step, position) {
    let wanted = 0;
    for (let slot = 0; slot < batch.length; slot++)
        wanted += BigInt(position) + BigInt(shape.rank) +
                  BigInt(slot) * BigInt(shape.worldSize) >= BigInt(shape.n);
    assert.equal(ask("padding", () => sampler.padding(step)),
                 shape.tail === "carry" ? 0 : wanted, "padding");
}

/* The batch that comes next, sample by sample. */
function batch_of(sampler, shape) {
    const step = ask("step", () => sampler.step);
    const position = ask("position", () => sampler.position);
    if (step === undefined || position === undefined)
        return;
    const batch = ask("at", () => sampler.at(step));
    if (!batch)
        return;
    served(batch, { step, position }, shape, (index) => sampler.locate(index));
    if (batch.length < 100)
        padded(sampler, shape, batch, step, position);
}

/* The same of a mix. A source that is at its end begins anew first. */
function turn_of(mix, sources, shape) {
    const turn = ask("turn", () => mix.turn);
    const next = ask("at", () => mix.at(turn));
    if (!next)
        return;
    const { numSamples: n, order } = sources[next.source];
    const now = ask("progress", () => mix.progress(next.source));
    if (now && now.step < now.numSteps)
        served(next.indices, { turn, step: now.step, position: now.position },
               { n, order, ...shape },
               (index) => mix.locate(next.source, index));
}

/* Next is what `at` says, of a step or a turn; and the same after a state. */
function goes_on(object, at, other, other_shape = false) {
    const into = room();
    const before = answers_of(object);
    keep(object.save());
    const wanted = list(ask("at", () => object.at(at)));
    const found = ask("next", () => into === undefined ? object.next()
                                                       : object.next(into));
    if (found === undefined) {
        assert.equal(answers_of(object), before, "next changed something");
        return;
    }
    assert.ok(into === undefined || is_room(into), "next takes what is wrong");
    keep(found);
    if (wanted !== undefined && found !== null)
        assert.equal(list(found), wanted, "next is at");
    /* It keeps its own shape, and is at the same place. */
    try {
        other.load(object.save());
    } catch (error) { /* the weights are too many for its shape, or too few */
        assert.ok(other_shape && [-128, -129].includes(error.code),
                  error.stack);
        return;
    }
    for (const name of ["position", "turn", "epoch"])
        assert.equal(ask(name, () => other[name]),
                     ask(name, () => object[name]), "a state restores");
}

/* What a state holds is the run's description, and where it is. */
function described(sampler, desc, { n, worldSize, batchSize }) {
    const { rank, bigint, dropLast, weight, ...fields } = desc;
    const wanted = { seed: 0, stream: 0, chunkSize: 0, window: 0,
                     order: "shuffle", partition: "interleaved", tail: "pad",
                     ...fields, numSamples: n, worldSize, batchSize };
    for (const name of ["epoch", "step", "position"])
        wanted[name] = ask(name, () => sampler[name]);
    const found = describeState(sampler.save());
    for (const [name, value] of Object.entries(wanted))
        if (value !== undefined)
            assert.equal(String(found[name]), String(value), `state: ${name}`);
}

/* A whole epoch in this shape, where it is short, is what is counted. */
function counted(sampler) {
    const counts = ask("counts", () => sampler.counts);
    let samples = 0, batches = 0;
    if (!(counts?.steps < 50))
        return;
    for (let step = 0; step < counts.steps; step++) {
        const batch = ask("at", () => sampler.at(step));
        if (!batch)
            return;
        samples += batch.length;
        batches += batch.length > 0;
    }
    assert.equal(String([counts.rankSamples, counts.rankBatches]),
                 String([samples, batches]), "counts of a rank");
}

/* The iterator serves each step that is left, also an empty one, and then the
   next epoch has begun. */
function rest_of(sampler) {
    const epoch_now = () => describeState(sampler.save()).epoch;
    const next = BigInt.asUintN(64, epoch_now() + 1n);
    const left = ask("step", () => sampler.numSteps - sampler.step);
    const batches = left < 50 && ask("iterator", () => [...sampler]);
    if (batches) {
        assert.equal(batches.length, Number(left), "the batches that are left");
        assert.equal(epoch_now(), next, "the iterator ends an epoch");
    }
}

function ask_sampler() {
    const desc = description();
    const sampler = ask("Sampler", () => new Sampler(desc));
    if (!sampler)
        return;
    counted(sampler);
    let other = new Sampler(desc);
    const shape = { n: desc.numSamples, order: desc.order, tail: desc.tail,
                    rank: desc.rank ?? 0, worldSize: desc.worldSize || 1,
                    batchSize: desc.batchSize || 1 };
    for (let i = 0; i < 12; i++) {
        batch_of(sampler, shape);
        goes_on(sampler, ask("step", () => sampler.step), other);
        moved(sampler, shape, [
            ["seek", (step = odd_or(whole)) => {
                sampler.seek(step);
                return { step };
            }],
            ["begin", (epoch = odd_or(whole)) => {
                sampler.begin(epoch);
                return { epoch, step: 0, position: 0 };
            }],
            ["setEpoch", ({ epoch: old, step, position } = sampler,
                          epoch = odd_or(() => one_of([old, whole()]))) => {
                sampler.setEpoch(epoch);
                return BigInt(epoch) === BigInt(old) ? { epoch, step, position }
                    : { epoch, step: 0, position: 0 };
            }],
            ["skip", () => {
                const step = BigInt(sampler.step);
                return { step: sampler.skip() ? step + 1n : 0 };
            }],
            ["reshape", ({ epoch, position } = sampler) => {
                const rank = odd_or(() => small(3));
                const worldSize = odd_or(() => small(4, 1));
                const batchSize = odd_or(() => one_of([undefined,
                                                       small(60, 1)]));
                sampler.reshape({ rank, worldSize, batchSize });
                Object.assign(shape, { rank, worldSize: worldSize || 1 });
                if (batchSize !== undefined)
                    shape.batchSize = batchSize || 1;
                return { epoch, position };
            }],
            ["resize", (n = odd_or(whole), { position } = sampler,
                        old = shape.n) => {
                sampler.resize(n);
                other = new Sampler({ ...desc, numSamples: n });
                shape.n = n;
                /* Padding is no sample: an epoch goes on at its end. */
                if (position > old && n != old)
                    position = old;
                /* With the tail carry an epoch that has served all is over. */
                return { position: desc.tail === "carry" && position == n
                    ? 0 : position };
            }],
            ["load", () => {
                const state = sampler.save();
                state[random(112)] ^= random(2) << random(8);
                sampler.load(odd_or(() => keep(read(state))));
            }]]);
        ask("at", () => sampler.at(odd_or(whole), odd_or(room)));
        const step = odd_or(whole);
        if (ask("at", () => sampler.at(step)) === null)
            assert.equal(ask("padding", () => sampler.padding(step)), 0);
        ask("padding", () => sampler.padding(odd_or(whole)));
        const counts = ask("counts", () => sampler.counts);
        if (counts) {
            assert.equal(BigInt(counts.positions) - BigInt(counts.padded) +
                         BigInt(counts.dropped), BigInt(shape.n), "counts");
            assert.equal(counts.steps, sampler.numSteps, "steps");
        }
        ask("sampleSeed", () => sampler.sampleSeed(odd_or(whole),
                                                   odd_or(whole)));
        const index = odd_or(whole);
        const place = ask("locate", () => sampler.locate(index));
        if (place && place.rank == shape.rank) {
            const there = ask("at", () => sampler.at(place.step));
            if (there)
                assert.equal(String(there[Number(place.slot)]), String(index));
        }
        ask("describeState", () => describeState(odd_or(() => sampler.save())));
        described(sampler, desc, shape);
        if (random(4) === 0)
            rest_of(sampler);
    }
}

function ask_mix() {
    const sources = Array.from({ length: random(5) }, () => {
        const { rank, worldSize, bigint, ...source } = description();
        return random(2) > 0 ? source
            : { ...source, weight: odd_or(() => small(5, 1)) };
    });
    const options = { stop: word_of(STOPS), bigint: random(2) > 0 };
    if (random(2) > 0)
        Object.assign(options, { rank: odd_or(() => small(3)),
                                 worldSize: odd_or(() => small(4, 1)) });
    const make = () => new Mix(sources, options);
    const mix = ask("Mix", make);
    if (!mix)
        return;
    const other = make();
    sources.forEach(({ epoch }, source) => {
        const now = ask("progress", () => mix.progress(source));
        assert.equal(String(now?.epoch ?? epoch), String(epoch ?? 0), "epoch");
    });
    const shape = { rank: options.rank ?? 0,
                    worldSize: options.worldSize || 1 };
    for (let i = 0; i < 8; i++) {
        const source = odd_or(() => small(sources.length));
        turn_of(mix, sources, shape);
        goes_on(mix, ask("turn", () => mix.turn), other,
                shape.worldSize != (options.worldSize || 1));
        moved(mix, shape, [
            ["seek", (turn = odd_or(whole)) => {
                mix.seek(turn);
                return { turn };
            }],
            ["reshape", () => {
                const rank = odd_or(() => random(3));
                const worldSize = odd_or(() => 1 + random(4));
                mix.reshape({ rank, worldSize });
                Object.assign(shape, { rank, worldSize: worldSize || 1 });
            }],
            ["weigh", () => mix.weigh(odd_or(() => sources.map(() =>
                odd_or(() => 1 + random(9)))))],
            ["load", () => {
                const state = mix.save();
                state[random(state.length)] ^= random(2) << random(8);
                mix.load(odd_or(() => keep(read(state))));
            }]]);
        ask("at", () => mix.at(odd_or(whole), odd_or(room)));
        ask("progress", () => mix.progress(source));
        const offset = ask("offset", () => mix.offset(source));
        if (offset !== undefined)
            assert.equal(
                BigInt(offset), sources.slice(0, Number(source)).reduce(
                    (sum, { numSamples }) => sum + BigInt(numSamples), 0n));
        ask("locate", () => mix.locate(source, odd_or(whole)));
    }
}

/* So many positions from first on are `at`, one by one. (More would be filled,
   for minutes.) */
function filled(perm, first, count, stride = 1) {
    if (["number", "bigint"].includes(typeof count) && count > 1e6)
        return;
    const found = ask("fill", () => perm.fill(first, count, stride));
    const length = found ? length_of(found) : 0, most = 1 + (length >> 3);
    for (let k = 0; k < length; k += 1 + random(most)) {
        const at = BigInt(first) + BigInt(stride) * BigInt(k);
        assert.equal(String(found[k]), String(ask("at", () => perm.at(at))),
                     "fill is at");
    }
}

function ask_rest() {
    const perm = ask("Perm", () => new Perm(odd_or(whole), odd_or(() => ({
        seed: odd_or(whole), epoch: odd_or(whole), bigint: random(2) > 0 }))));
    if (perm) /* in more than one part */
        filled(perm, random(9), 20000, 1 + random(3));
    const audit = new Audit();
    for (let i = 0; i < 8; i++) {
        if (perm) {
            const position = odd_or(whole);
            const index = ask("at", () => perm.at(position));
            if (index !== undefined)
                assert.equal(String(ask("inverse", () => perm.inverse(index))),
                             String(position));
            filled(perm, odd_or(whole), odd_or(() => random(50)),
                   odd_or(whole));
            filled(perm, odd_or(whole), room(), 1);
        }
        const { count } = audit;
        const before = keep(audit.save()), indices = room();
        const added = ask("add", () => audit.add(indices) ?? true);
        if (added === undefined)
            assert.equal(hex(audit.save()), hex(before),
                         "add changed something");
        else {
            assert.ok(is_room(indices), "add takes what is wrong");
            assert.equal(audit.count, count + length_of(indices), "add counts");
        }
        ask("merge", () => audit.merge(one_of([audit, ...ODD])));
        ask("check", () => audit.check(odd_or(whole)));
        ask("load", () => audit.load(odd_or(() => keep(read(audit.save())))));
    }
}

/* Each of [0, n) once, in two parts, is whole; with one of them twice, or as
   another, it is not. */
function ask_audit() {
    const n = 2 + random(300), part = random(n), wrong = random(n);
    const indices = new Perm(n, { seed: random(1000) }).fill(0, n);
    const kind = one_of(KINDS);
    const audit_of = (some) => {
        const audit = new Audit();
        audit.add(kind.from(some, kind === BigUint64Array ? BigInt : Number));
        return audit;
    };
    const audit = audit_of(indices.subarray(0, part));
    audit.merge(audit_of(indices.subarray(part)));
    assert.equal(audit.count, n, "an audit's count");
    assert.equal(ask("check", () => audit.check(n)), true, "all are there");
    assert.equal(ask("check", () => audit.check(n + 1)), false, "one is not");
    const state = read(audit.save()), twice = audit_of([indices[wrong]]);
    twice.load(keep(state));
    assert.equal(ask("check", () => twice.check(n)), true, "all are back");
    twice.merge(audit_of([indices[wrong]]));
    assert.equal(ask("check", () => twice.check(n)), false, "one is twice");
    twice.merge(twice);
    assert.equal(twice.count, 2 * n + 2, "an audit with itself");
    indices[wrong] = (indices[wrong] + 1 + random(n - 1)) % n;
    assert.equal(ask("check", () => audit_of(indices).check(n)), false,
                 "one is another");
}

test("drawn inputs", () => {
    for (let i = 0; i < rounds; i++) {
        const before = x;
        try {
            one_of([ask_sampler, ask_sampler, ask_mix, ask_rest, ask_audit])();
        } catch (error) {
            error.message += ` (round ${i} of seed ${seed}, x = ${before})`;
            throw error;
        }
    }
    assert.ok(taken > calls / 4 && taken < calls, `${taken} of ${calls} taken`);
    console.log(`note: ${calls} calls, ` +
                `${(100 * taken / calls).toFixed(1)} % taken`);
});
