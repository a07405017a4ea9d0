/* mixture.mjs - do named datasets in JavaScript do what they do in C?

       node examples/js/tests/mixture.mjs FOLDER PROGRAM

   FOLDER has statesampler.mjs and mixture.mjs; PROGRAM is mixture.c, which is
   given the same random commands. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import path from "node:path";
import test from "node:test";
import { random } from "./random.mjs";

const [folder, program] = process.argv.slice(2);
const load = (name) => import(path.resolve(folder, name));
const { ORDERS, PARTITIONS, STOPS, TAILS, Mix, StatesamplerError,
        describeMix } = await load("statesampler.mjs");
const { Mixture } = await load("mixture.mjs");

const pick = (list) => list[random(list.length)];
const hex = (bytes) => Buffer.from(bytes).toString("hex");

const lines = [], answers = [];
const STATUS = ["matched", "new", "removed", "changed"];

/* Gives a command to both; `call` is answered as C answers. */
function ask(line, call) {
    let answer;
    try {
        answer = call() ?? 0;
    } catch (error) {
        assert.ok(error instanceof StatesamplerError, error.stack);
        answer = error.code;
    }
    lines.push(line);
    answers.push(answer);
}

const NAMES = ["wiki", "code", "ümlaut", "a", "b"];

/* Some of the names in any order; their descriptions differ at times. */
function datasets(stop) {
    return NAMES.filter(() => random(3)).sort(() => random(3) - 1)
        .map((name) => [name, {
            numSamples: 20 + NAMES.indexOf(name) + Number(!random(12)),
            seed: 7, epoch: random(3), stream: NAMES.indexOf(name),
            chunkSize: random(20) ? 3 : 4, window: random(20) ? 2 : 3,
            batchSize: 1 + random(5),
            order: ORDERS[random(20) ? NAMES.indexOf(name) % 3 : 1],
            partition: PARTITIONS[name === "code" ? 1 : 0],
            tail: TAILS[name === "a" && stop === "never" ? 3
                : NAMES.indexOf(name) % 3],
            weight: random(8) ? 1 + random(3) : "off" }]);
}

function begin(stop) {
    const worldSize = 1 + random(3), rank = random(worldSize);
    const list = datasets(stop);
    let mixture;
    for (const [name, d] of list)
        ask(["add", name, d.weight === "off" ? 2 ** 32 - 1 : d.weight,
             d.numSamples, d.seed, d.epoch, d.stream, d.chunkSize, d.window,
             d.batchSize, ORDERS.indexOf(d.order),
             PARTITIONS.indexOf(d.partition), TAILS.indexOf(d.tail),
             worldSize << 3 | rank].join(" "), () => 0);
    if (list.length === 0)
        return null;
    ask(`start ${STOPS.indexOf(stop)}`, () => {
        mixture = new Mixture(list, { stop, rank, worldSize });
    });
    return mixture;
}

const changes = ({ changes }) => changes.map(({ name, source, was, status }) =>
    ` ${name ?? "-"}:${source ?? was}:${STATUS.indexOf(status)}`).join("");

/* A state, at times damaged, or with a name twice and the right check word. */
function forged(state) {
    if (random(6))
        return state;
    if (state[8] > 1 && random(2)) {
        const all = new BigUint64Array(state.slice().buffer);
        all[3] = all[2];
        all[all.length - 1] = all.slice(0, -1).reduce((sum, one) => {
            const h = BigInt.asUintN(64, (sum ^ one) * 0x9e3779b97f4a7c15n);
            return h ^ h >> 32n;
        }, 0n);
        return new Uint8Array(all.buffer);
    }
    const bytes = state.slice(0, random(4) ? state.length : 1 + random(90));
    bytes[random(bytes.length)] ^= 1 << random(8);
    return bytes;
}

test("random commands, as in C", () => {
    let saved = new Uint8Array(8);
    const seen = new Set();
    for (let round = 0; round < 3000; round++) {
        const mixture = begin(random(4) ? "never" : pick(STOPS));
        if (!mixture)
            continue;
        const turns = (count) => {
            for (; count > 0; count--)
                ask("next", () => {
                    const turn = mixture.next();
                    return turn === null ? "none"
                        : `${turn.source} ${turn.indices[0] ?? 0}`;
                });
        };
        turns(random(3) ? 0 : random(40));
        const before = hex(mixture.save()), state = forged(saved);
        const restart = random(2);
        ask(`load ${restart} ${hex(state)}`, () => {
            let code = 0;
            try {
                mixture.load(state, { restart: restart === 1 });
            } catch (error) {
                ({ code } = error);
                assert.equal(hex(mixture.save()), before);
            }
            mixture.changes.forEach(({ status }) => seen.add(status));
            seen.add(code);
            return code + changes(mixture);
        });
        turns(random(40));
        ask("save", () => hex(saved = mixture.save()));
    }
    for (const one of [...STATUS, 0, -301, -302, -303, -314, -401, -510, -511])
        assert.ok(seen.has(one), `never ${one}`);

    const { stdout, status } = spawnSync(program, {
        input: lines.join("\n") + "\n", encoding: "utf8", maxBuffer: 1 << 28 });
    assert.equal(status, 0);
    const want = stdout.trim().split("\n");
    assert.equal(want.length, lines.length);
    want.forEach((answer, i) =>
        assert.equal(String(answers[i]), answer, `line ${i}: ${lines[i]}`));
    console.log(`note: ${lines.length} commands`);
});

test("a mix's state makes a mix that can load it", () => {
    const mixed = new Mix(Array.from({ length: 5 }, (_, i) => (
        { numSamples: 30 + i, stream: i, batchSize: 2, weight: i || "off" })),
                          { stop: "all", worldSize: 2 });
    mixed.seek(9);
    const all = Array.from({ length: 5 },
                           (_, i) => describeMix(mixed.save(), i));
    assert.deepEqual(
        all.map(({ source, ...rest }) => ({ ...rest, weight: source.weight })),
        ["off", 1, 2, 3, 4].map((weight) => (
            { epoch: 0n, turn: 9n, numSources: 5, stop: "all", worldSize: 2,
              weight })));
    const again = new Mix(all.map(({ source }) => source),
                          { stop: all[0].stop, worldSize: 2, bigint: true });
    again.load(mixed.save());
    assert.equal(again.turn, 9n);
    assert.throws(() => describeMix(mixed.save(), 5), { kind: "ERANGE" });
    assert.throws(() => describeMix(mixed.save()),
                  /source must be a whole number/);
    const named = new Mixture([["a", { numSamples: 5 }]]).save();
    assert.throws(() => describeMix(named, 0), { code: -302 });
});

test("what is no name, no state, no option", () => {
    const one = { numSamples: 5 };
    // The sentences are those that the header has for these codes.
    for (const [list, error] of [
        [[["", one]], { code: -130, message: /name is empty$/ }],
        [[["a", one], ["a", one]],
         { code: -131, message: /already a dataset of this name$/ }],
        [[[7, one]], TypeError],
        [[["a", { numSample: 5 }]], /a field must be/],
        [[], { code: -120 }], [{ a: one }, TypeError]])
        assert.throws(() => new Mixture(list), error);
    const small = new Mixture(new Map([["a", one]]));
    for (const state of [undefined, "state", [1], new Uint16Array(4)])
        assert.throws(() => small.load(state), TypeError);
    assert.throws(() => small.load(new Uint8Array(0)), { code: -301 });
    for (const options of [null, 7, { restrat: true }, { restart: 1 }])
        assert.throws(() => small.load(small.save(), options), TypeError);
    assert.deepEqual(small.names, ["a"]);
});
