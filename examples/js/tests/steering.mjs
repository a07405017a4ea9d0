/* steering.mjs - do histories and schedules in JavaScript do what they do in C,
   and does a history know each step of a run?

       node examples/js/tests/steering.mjs FOLDER PROGRAM INDICES HISTORY

   FOLDER has statesampler.mjs and steering.mjs; PROGRAM is steering.c, which is
   given the same random commands. INDICES and HISTORY are the programs
   examples/indices.c and examples/history.c. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import test, { after } from "node:test";
import zlib from "node:zlib";
import { random } from "./random.mjs";

const [folder, program, indices, historyProgram] = process.argv.slice(2);
const load = (name) => import(path.resolve(folder, name));
const { ORDERS, PARTITIONS, STOPS, TAILS, Mix, Sampler, StatesamplerError } =
    await load("statesampler.mjs");
const { History, RecordedMix, RecordedSampler, Schedule, SteeringError } =
    await load("steering.mjs");

let checks = 0;
function same(have, want, what) {
    checks++;
    assert.deepEqual(have, want, what);
}

const pick = (list) => list[random(Math.max(list.length, 1))];
const hex = (bytes) => Buffer.from(bytes).toString("hex");
const unhex = (text) => new Uint8Array(Buffer.from(text, "hex"));

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "steering."));
after(() => fs.rmSync(directory, { recursive: true }));
const file = path.join(directory, "run.saved");

/* --- Random runs ---------------------------------------------------------- */

const range = (n) => Array.from({ length: n }, (_, i) => i);

const newShape = () => ({ worldSize: 1 + random(6), batchSize: 1 + random(4) });

function newDesc(tails = TAILS) {
    const tail = pick(tails), carry = tail === "carry";
    return { numSamples: 1 + random(60), seed: random(1000), epoch: random(5),
             stream: random(3), chunkSize: 1 + random(5),
             window: 1 + random(4), order: pick(ORDERS), tail,
             partition: carry ? "interleaved" : pick(PARTITIONS),
             dropLast: !carry && random(4) === 0 };
}

/* The fields of a description for steering.c. */
const numbersOf = (d, { worldSize, batchSize }) =>
    [d.numSamples, d.seed, d.epoch, d.stream, d.chunkSize, d.window, worldSize,
     batchSize, ORDERS.indexOf(d.order), PARTITIONS.indexOf(d.partition),
     TAILS.indexOf(d.tail), Number(d.dropLast)].join(" ");

/* --- Against a log of all steps ------------------------------------------- */

/* A run that is steered at random, with a log of what it has served, and of
   what it has skipped. `kept` has checkpoints of all that. */
class Trial {
    log = [];
    skips = [];
    kept = [];

    keep() {
        const { log, skips } = this;
        this.kept.push({ saved: this.run.save(), log: [...log],
                         skips: [...skips], numSamples: this.numSamples });
    }

    /* Goes back to a checkpoint; returns its bytes. */
    back() {
        const { saved, log, skips, numSamples } = pick(this.kept);
        Object.assign(this, { log: [...log], skips: [...skips], numSamples });
        return saved;
    }

    /* Whether a place is before another one. */
    before([epoch, step], [other, at]) {
        return this.carry || epoch === other ? step < at : epoch < other;
    }

    same(one, other) {
        return !this.before(one, other) && !this.before(other, one);
    }

    /* A skip from where the last one led is the same one, up to the begin of
       another epoch. (With CARRY a seek's place has that of the first.) */
    skip(from, to, seeks = false) {
        const { skips } = this, [begin, end] = skips.at(-1) ?? [[-1], []];
        if (begin[0] === end[0] && this.same(end, from))
            skips[skips.length - 1] = [begin, seeks ? [end[0], to[1]] : to];
        else
            skips.push([from, to]);
    }

    /* Why a history does not have a step. */
    reason(history, at) {
        const { epoch, step } = history.since;
        if (this.before([at[0], 0], [epoch, step]))
            return "EUNKNOWN";
        return this.skips.some(([from, to]) =>
            !this.before(at, from) && this.before(at, to)) ? "ESKIPPED"
                                                           : "EUNSERVED";
    }

    /* The records of a step. */
    records([epoch, step]) {
        return this.log.filter((one) => one.step === step &&
                                        (this.carry || one.epoch === epoch));
    }

    /* Compares what a history has of a step, on all ranks. */
    compareStep(history, at) {
        const sizes = this.records(at).map(({ worldSize }) => worldSize);
        for (const rank of range(Math.max(1, ...sizes)))
            this.compareRank(history, at, rank);
    }

    compareRank(history, [epoch, step], rank) {
        const want = this.records([epoch, step]);
        let have = [];
        try {
            have = history.at(step, { epoch, rank });
        } catch (error) {
            assert.ok(error instanceof SteeringError, error.stack);
            const kind = this.reason(history, [epoch, step]);
            /* (A step that the epoch does not have is not skipped either.) */
            if (kind !== "ESKIPPED" || error.kind !== "EUNSERVED")
                same(error.kind, kind, `${error}`);
            seen[error.kind]++;
        }
        same(have.map((one) => [one.epoch, one.worldSize, one.source,
                                [...one.indices]]),
             want.filter(({ worldSize }) => rank < worldSize)
                 .map((one) => [one.epoch, one.worldSize, one.source,
                                one.ranks[rank]]));
    }

    /* Each place must be in the log; and what is in the log must be found: as
       often, unless padding repeats it or a batch runs into the next epoch. */
    comparePlaces(places, index, records, tail) {
        for (const { step, rank, slot } of places) {
            checks++;
            assert.ok(records.some((one) => one.step === step &&
                                            one.ranks[rank]?.[slot] === index),
                      `${index} at ${step}`);
        }
        const { length } = records.filter(({ ranks }) =>
            ranks.some((batch) => batch.includes(index)));
        if (tail === "drop" || tail === "uneven")
            same(places.length, length);
        else if (!this.carry)
            same(places.length > 0, length > 0);
    }
}
const seen = { ESKIPPED: 0, EUNSERVED: 0, EUNKNOWN: 0 };

class SamplerTrial extends Trial {
    desc = newDesc();
    shape = newShape();
    carry = this.desc.tail === "carry";
    numSamples = this.desc.numSamples;
    run = this.start();

    start() {
        const { desc, numSamples, shape } = this;
        return new RecordedSampler({ ...desc, numSamples, ...shape });
    }

    /* What all ranks have in the next step, as plain samplers know it; null at
       the end of the epoch. */
    record() {
        const { desc, numSamples, run, shape } = this;
        const ranks = range(shape.worldSize).map((rank) => {
            const one = new Sampler({ ...desc, numSamples, ...shape, rank });
            one.load(run.history.state);
            return one.at(one.step);
        });
        const { epoch, step } = run, { worldSize } = shape;
        return ranks[0] && { epoch, step, worldSize, source: undefined,
                             ranks: ranks.map((batch) => [...batch]) };
    }

    go() {
        for (let steps = random(9); steps > 0 && this.run.epoch < 9; steps--) {
            const one = this.record();
            if (one)
                this.log.push(one);
            this.run.skip();
        }
    }

    seek() {
        const { epoch, step } = this.run, to = random(this.carry ? 50 : 20);
        try {
            this.run.seek(random(2) ? to : BigInt(to));
        } catch (error) {
            same([error.kind, this.run.step], ["ERANGE", step]);
            return;
        }
        this.skip([epoch, step], [epoch, to], true);
    }

    begin() {
        const { epoch, step } = this.run, to = random(6), sets = random(2);
        if (sets)
            this.run.setEpoch(to);
        else
            this.run.begin(to);
        if (!sets || to !== epoch)
            this.skip([epoch, step], [to, 0]);
    }

    reshape() {
        this.shape = newShape();
        this.run.reshape({ rank: random(this.shape.worldSize), ...this.shape });
    }

    resize() {
        const length = this.run.position + random(20);
        if (this.desc.order !== "sequential" || length === 0 ||
            this.desc.partition !== "interleaved")
            return;
        this.run.resize(length);
        this.numSamples = length;
    }

    /* Another process goes on from a checkpoint, or this one. */
    kill() {
        const saved = this.back();
        if (random(2))
            this.shape = newShape();
        if (random(2) || this.run.numSamples !== this.numSamples)
            this.run = this.start();
        else
            this.run.reshape({ rank: 0, ...this.shape });
        this.run.load(saved);
    }

    compare() {
        const { history } = this.run, { order, tail } = this.desc;
        for (const epoch of this.carry ? [0] : range(10))
            for (const step of range(this.carry ? 60 : 30))
                this.compareStep(history, [epoch, step]);
        if (order === "replacement") {
            assert.throws(() => history.locate(0), { kind: "EINVAL" });
            return;
        }
        for (const index of range(this.numSamples))
            for (const epoch of new Set(this.log.map(({ epoch }) => epoch)))
                this.compareIndex(history, index, epoch, tail);
    }

    compareIndex(history, index, epoch, tail) {
        const { since } = history;
        const records = this.log.filter((one) => this.carry ||
                                                 one.epoch === epoch);
        const has = records.some(({ ranks }) =>
            ranks.some((batch) => batch.includes(index)));
        if (!has && this.before([epoch, 0], [since.epoch, since.step]))
            assert.throws(() => history.locate(index, { epoch }),
                          { kind: "EUNKNOWN" });
        else if (!this.carry || epoch > since.epoch)
            this.comparePlaces(history.locate(index, { epoch }), index, records,
                               tail);
    }
}

/* Does what these names say, in any order. */
function steer(trial, events, acts) {
    trial.keep();
    for (let i = 0; i < acts; i++)
        trial[pick(events)]();
    trial.compare();
}

test("random runs of a sampler, through kills, against a log", () => {
    for (let run = 0; run < 120; run++)
        steer(new SamplerTrial(), ["go", "go", "go", "seek", "begin", "reshape",
                                   "resize", "keep", "kill"], 30);
    assert.ok(seen.ESKIPPED > 300 && seen.EUNSERVED > 1000 &&
              seen.EUNKNOWN > 100, JSON.stringify(seen));
});

class MixTrial extends Trial {
    carry = false;
    stop = pick(STOPS);
    worldSize = 1 + random(3);
    sources = range(1 + random(4)).map(() => ({
        ...newDesc(this.stop === "never" ? TAILS : TAILS.slice(0, 3)),
        order: pick(ORDERS.slice(0, 3)), dropLast: false,
        numSamples: 20 + random(40), batchSize: 1 + random(4),
        weight: 1 + random(5) }));
    run = this.start();

    start() {
        const { sources, stop, worldSize } = this;
        return new RecordedMix(sources, { stop, worldSize });
    }

    go() {
        const { run, sources, stop, worldSize } = this;
        for (let turns = random(20); turns > 0; turns--) {
            const { epoch, turn } = run, { state } = run.history;
            const ranks = range(worldSize).map((rank) => {
                const one = new Mix(sources, { stop, worldSize, rank });
                one.load(state);
                return [...one.next()?.indices ?? []];
            });
            const served = run.next();
            if (served === null)
                continue;
            same([...served.indices], ranks[0]);
            this.log.push({ epoch, step: turn, source: served.source, worldSize,
                            ranks });
        }
    }

    seek() {
        const { epoch, turn } = this.run, to = random(60);
        try {
            this.run.seek(to);
        } catch (error) {
            same([error.kind, this.run.turn], ["ERANGE", turn]);
            return;
        }
        this.skip([epoch, turn], [epoch, to], true);
    }

    weigh() {
        this.run.weigh(this.sources.map((_, i) =>
            i === 0 || random(4) ? 1 + random(9) : "off"));
    }

    reshape() {
        this.worldSize = 1 + random(3);
        this.run.reshape({ rank: 0, worldSize: this.worldSize });
    }

    kill() {
        const saved = this.back();
        this.worldSize = 1 + random(3);
        if (random(2))
            this.sources.forEach((source) => {
                source.batchSize = 1 + random(4);
            });
        this.run = this.start();
        this.run.load(saved);
    }

    compare() {
        const { history, epoch } = this.run;
        for (const each of range(epoch + 1))
            for (const turn of range(80))
                this.compareStep(history, [each, turn]);
        this.sources.forEach(({ numSamples, tail }, source) => {
            const records = this.log.filter((one) => one.epoch === epoch &&
                                                     one.source === source);
            for (const index of range(numSamples))
                this.comparePlaces(history.locate(index, { source }), index,
                                   records, tail);
        });
    }
}

test("random runs of a mix, through kills, against a log", () => {
    for (let run = 0; run < 120; run++)
        steer(new MixTrial(), ["go", "go", "go", "seek", "weigh", "reshape",
                               "keep", "kill"], 25);
});

/* --- Against C ------------------------------------------------------------ */

const CODES = { EORDER: -1402, EOTHER: -1403, ESHARES: -1301, ETURNS: -1302,
                EMEANS: -1303, ESTOP: -1304, ETURN: -1305, ETOKENS: -1306,
                EHAD: -1310 };

/* Commands and answers; `ask` gives one to JavaScript now, and to C later. */
class Conversation {
    lines = [];
    answers = [];
    codes = new Set();

    ask(line, call) {
        let answer;
        try {
            answer = call() ?? 0;
        } catch (error) {
            answer = error.code ?? CODES[error.kind];
            assert.ok(answer < 0, error.stack);
            this.codes.add(answer);
        }
        this.lines.push(line);
        this.answers.push(String(answer));
    }

    compare() {
        const { status, stdout } = spawnSync(program, {
            input: this.lines.join("\n") + "\n", encoding: "utf8",
            maxBuffer: 2 ** 28 });
        same(status, 0);
        const want = stdout.trim().split("\n");
        same(want.length, this.lines.length);
        want.forEach((line, i) => same(this.answers[i], line, this.lines[i]));
    }
}

/* The same state, or one that is damaged at times. */
function maybeDamaged(text) {
    const at = 2 * random(text.length / 2);
    if (random(6) === 0)
        return text.slice(0, at) + "a5" + text.slice(at + 2);
    return random(6) === 0 ? text.slice(0, at) : text;
}

test("random commands for a sampler, as in C", () => {
    const talk = new Conversation();
    let saved = [];
    for (let turn = 0; turn < 60; turn++) {
        const desc = newDesc(), shape = newShape();
        let run;
        talk.ask(`sampler ${numbersOf(desc, shape)}`, () => {
            run = new RecordedSampler({ ...desc, ...shape });
        });
        const commands = {
            go: (n = random(30)) => [`go ${n}`, () => {
                range(n).forEach(() => run.skip());
            }],
            seek: (to = random(40)) => [`seek ${to}`, () => run.seek(to)],
            begin: (to = random(6)) => [`begin ${to}`, () => run.begin(to)],
            /* With the same length C's history answers OK in any order. */
            resize: (n = random(70), to = n + (n === run.numSamples)) => [
                `resize ${to}`, () => run.resize(to)],
            reshape: ({ worldSize, batchSize } = newShape()) => [
                `reshape ${worldSize} ${batchSize}`,
                () => run.reshape({ rank: 0, worldSize, batchSize })],
            save: () => ["save", () => {
                saved.push(hex(run.save()));
                return saved.at(-1);
            }],
            load: (text = maybeDamaged(pick(saved.slice(-4)) ?? "00")) => [
                `load ${text}`, () => run.load(unhex(text))],
            bare: (text = hex(run.history.state)) => [
                `load ${text}`, () => run.load(unhex(text))],
        };
        for (let step = 0; step < 40; step++)
            talk.ask(...commands[pick(Object.keys(commands))]());
        talk.ask(...commands.save());
        saved = saved.slice(-2);
    }
    talk.compare();
    for (const code of [-201, -202, -210, -1403])
        assert.ok(talk.codes.has(code), `${code}: ${[...talk.codes]}`);
});

const newSources = (stop) => range(2 + random(4)).map(() => ({
    ...newDesc(stop === "never" ? TAILS : TAILS.slice(0, 3)),
    numSamples: 20 + random(40), ...newShape(), worldSize: undefined,
    weight: 1 + random(5) }));

/* The plan of steering.c. */
const planOf = (count, tokens) => (turn) => ({
    turns: 1 + turn * 31 % 50,
    shares: range(count).map((i) =>
        (turn * 7919 + i * 104729) % 1000 / 7 + (i === 0 ? 0.1 : 0)),
    ...tokens && { means: range(count).map((i) => 100 + 13 * i) } });

test("random commands for a mix and a schedule, as in C", () => {
    const talk = new Conversation();
    for (let turn = 0; turn < 60; turn++) {
        const stop = random(2) ? "never" : pick(STOPS);
        const worldSize = 1 + random(3);
        const sources = newSources(stop).map(({ worldSize: _, ...rest }) =>
            rest);
        let run, schedule = null, tokens = false;
        const saved = [], schedules = [];
        for (const source of sources)
            talk.ask(`source ${source.weight} ` +
                     numbersOf(source, { ...source, worldSize }), () => 0);
        talk.ask(`mix ${STOPS.indexOf(stop)}`, () => {
            run = new RecordedMix(sources, { stop, worldSize });
        });
        const commands = {
            go: (n = random(60)) => [`go ${n}`, () => {
                for (let i = 0; i < n; i++) {
                    const now = run.turn;
                    const turn = (schedule ?? run).next();
                    if (schedule && tokens)
                        schedule.had(turn.source, 80 + now * 17 % 60);
                }
            }],
            seek: (to = random(99)) => [
                `seek ${to}`, () => RecordedMix.prototype.seek.call(run, to)],
            reshape: (to = 1 + random(3)) => [
                `reshape ${to}`,
                () => run.reshape({ rank: 0, worldSize: to })],
            weigh: (list = sources.map(() => random(9))) => [
                `weigh ${list.join(" ")}`, () => run.weigh(list)],
            save: () => ["save", () => {
                saved.push(hex(run.save()));
                return saved.at(-1);
            }],
            load: (text = maybeDamaged(pick(saved.slice(-4)) ?? "00")) => [
                `load ${text}`, () => run.load(unhex(text))],
            bare: (text = hex(run.history.state)) => [
                `load ${text}`, () => run.load(unhex(text))],
        };
        /* Once the mix has been steered by hand, a schedule may refuse it. */
        const planned = {
            plan: (to = random(run.turn + 300)) => [
                `plan ${to}`, () => schedule.seek(to)],
            saved: () => ["saved", () => {
                schedules.push(hex(schedule.save()));
                return schedules.at(-1);
            }],
            loaded: (text = maybeDamaged(pick(schedules) ?? "00")) => [
                `loaded ${text}`, () => schedule.load(unhex(text))],
        };
        if (stop === "never" && random(4)) {
            tokens = random(2) === 1;
            talk.ask(`schedule ${Number(tokens)}`, () => {
                schedule = new Schedule(run, planOf(sources.length, tokens));
            });
        }
        const all = schedule === null ? commands : {
            go: commands.go, save: commands.save, ...planned,
            ...random(2) && { seek: commands.seek, load: commands.load } };
        for (let step = 0; step < 40; step++)
            talk.ask(...all[pick(Object.keys(all))]());
        talk.ask(...commands.save());
    }
    talk.compare();
    for (const code of [-202, CODES.ETURN, CODES.ETOKENS])
        assert.ok(talk.codes.has(code), `${code}: ${[...talk.codes]}`);
});

/* What indices.c prints for these arguments, by lines. */
function byIndices(...args) {
    const { stdout, stderr } = spawnSync(indices, ["--state", file, ...args],
                                         { encoding: "utf8" });
    return (stdout + stderr).trim().split("\n");
}

function steps(history, epoch, step, ofMix, offsets) {
    try {
        return history.at(step, { epoch }).map((one) =>
            `epoch ${one.epoch} step ${step} rank 0` +
            (ofMix ? ` dataset ${one.source}:` : ":") +
            [...one.indices].map((index) =>
                ` ${index + (ofMix ? offsets[one.source] : 0)}`).join(""));
    } catch (error) {
        return [`indices: ${error.message.replace(/turn/g, "step")}`];
    }
}

function placesOf(history, epoch, index, source, offset = 0) {
    const all = history.locate(index,
                               source === undefined ? { epoch }
                                   : { epoch, source });
    return all.length === 0
        ? [`${index + offset}: epoch ${epoch}: not served`]
        : all.map((one) =>
            `${index + offset}: epoch ${epoch} step ${one.step} ` +
            `rank ${one.rank} slot ${one.slot} position ${one.position}` +
            (source === undefined ? "" : ` dataset ${source}`));
}

test("indices.c reads what JavaScript has saved", () => {
    const desc = { numSamples: 500, seed: 3, batchSize: 4, worldSize: 3 };
    const run = new RecordedSampler(desc);
    for (let i = 0; i < 10; i++)
        run.skip();
    run.seek(14);
    run.skip();
    run.seek(3);
    run.skip();
    run.reshape({ rank: 1, worldSize: 2 });
    run.skip();
    run.begin(3);
    run.skip();
    fs.writeFileSync(file, run.save());
    for (const epoch of [0, 3])
        for (let step = 0; step < 16; step++)
            same(steps(run.history, epoch, step),
                 byIndices("--epoch", epoch, "--steps", `${step}..${step}`));
    for (let index = 0; index < 20; index++)
        same(placesOf(run.history, 0, index),
             byIndices("--epoch", "0", "--where", index));
    /* What no epoch has was not skipped. */
    const why = (epoch, step) => spawnSync(indices, [
        "--state", file, "--epoch", epoch, "--steps", `${step}..${step}`],
        { encoding: "utf8" }).stderr;
    for (const [epoch, step, there] of [[0, 40, true], [1, 62, true],
                                        [2, 0, true], [1, 63, false],
                                        [0, 99, false], [2, 99, false]]) {
        assert.throws(() => run.history.at(step, { epoch }),
                      { kind: there ? "ESKIPPED" : "EUNSERVED" });
        assert.match(why(epoch, step),
                     there ? /: skipped at step / : /: the run has not served/);
    }
    const sources = [{ numSamples: 40, batchSize: 3 },
                     { numSamples: 25, batchSize: 2, weight: 2 }];
    const mix = new RecordedMix(sources, { stop: "restart", worldSize: 2 });
    for (let i = 0; i < 50; i++)
        mix.next();
    mix.weigh([3, 1]);
    for (let i = 0; i < 7; i++)
        mix.next();
    mix.seek(mix.turn + 2);
    mix.next();
    fs.writeFileSync(file, mix.save());
    assert.ok(mix.epoch > 1);
    for (const epoch of range(mix.epoch + 1)) {
        for (let turn = 0; turn < 25; turn++)
            same(steps(mix.history, epoch, turn, true, [0, 40]),
                 byIndices("--epoch", epoch, "--steps", `${turn}..${turn}`));
        for (const [source, index] of [[0, 7], [0, 39], [1, 0], [1, 11]])
            same(placesOf(mix.history, epoch, index, source, source * 40),
                 byIndices("--epoch", epoch, "--where", index + source * 40));
    }
});

test("JavaScript reads what history.c has saved", () => {
    same(spawnSync(historyProgram, [file]).status, 0);
    const bytes = new Uint8Array(fs.readFileSync(file));
    const history = new History(bytes);
    for (const step of [0, 289, 290, 300, 320, 321, 399, 400, 500, 532, 600])
        same(steps(history, 0, step),
             byIndices("--epoch", "0", "--steps", `${step}..${step}`));
    assert.throws(() => history.at(300, { epoch: 0 }),
                  /^SteeringError: step 300 of epoch 0: skipped at step 290 /);
    for (let index = 0; index < 50; index++)
        same(placesOf(history, 0, index),
             byIndices("--epoch", "0", "--where", index));
    const run = new RecordedSampler({ numSamples: 64000, seed: 42,
                                      worldSize: 6, batchSize: 16 });
    run.load(bytes);
    same(hex(run.save()), hex(bytes));
});

/* A Mix with names and a schedule, which Python saves around its history. Where
   there is Python, it saves the same bytes. */
test("JavaScript reads what Python has saved", () => {
    const text = fs.readFileSync("examples/js/tests/saved.json", "utf8");
    const { saved, served } = JSON.parse(text), bytes = unhex(saved);
    const python = spawnSync("python3", ["-B", "examples/js/tests/saved.py"], {
        encoding: "utf8", env: { ...process.env,
                                 PYTHONPATH: "examples/python" } });
    if (!python.error)
        same([python.stderr, python.stdout], ["", text]);
    const offsets = [0, 9, 17], history = new History(bytes);
    for (const [step, want] of served) {
        const [{ source, indices }] = history.at(step);
        same(Array.from(indices, (index) => index + offsets[source]), want);
    }
    assert.throws(() => history.at(30), { kind: "ESKIPPED" });
    same(history.locate(3, { source: 1 }).length,
         served.filter(([, want]) => want.includes(12)).length);
    /* Its state is a Mixture's. */
    same(String.fromCharCode(...history.state.subarray(0, 4)), "SSMN");
    same(new History(history.state).since, { epoch: 0, step: 75 });
    for (let at = 0; at < bytes.length; at++) {
        const wrong = bytes.slice();
        wrong[at] ^= 1 << at % 8;
        for (const one of [wrong, bytes.subarray(0, at)])
            assert.throws(() => new History(one), HEADERS);
    }
});

test("what no epoch of a mix has was not skipped, in those passed over", () => {
    const { begun } = JSON.parse(
        fs.readFileSync("examples/js/tests/saved.json", "utf8"));
    const history = new History(unhex(begun));
    for (const epoch of [0, 1, 3]) {
        assert.throws(() => history.at(4, { epoch }), { kind: "ESKIPPED",
            message: `turn 4 of epoch ${epoch}: skipped at turn 1 of epoch 0 ` +
                     "by a begin to 4" });
        assert.throws(() => history.at(99, { epoch }), { kind: "EUNSERVED",
            message: `turn 99 of epoch ${epoch}: the run has not served it` });
    }
});

/* The blocks of the README; the first ends with an error, the second never. */
test("the README's programs", async () => {
    const blocks = fs.readFileSync("examples/js/README.md", "utf8")
        .split("```js\n").map((text) => text.split("```")[0])
        .filter((text) => text.includes('from "./steering.mjs"'));
    same(blocks.length, 2);
    const datasets = JSON.stringify([{ numSamples: 9 }, { numSamples: 8 }]);
    const run = async (block) => {
        const { href } = new URL(`file://${path.resolve(folder)}/steering.mjs`);
        const name = path.join(directory, `block${block.length}.mjs`);
        fs.writeFileSync(name, `let turns = 0;
            const datasets = ${datasets};
            function train() { if (++turns === 99) throw new Error("99"); }
            ${block.replace("./steering.mjs", href)}`);
        await import(name);
    };
    await assert.rejects(run(blocks[0]), {
        kind: "ESKIPPED",
        message: "step 300 of epoch 0: skipped at step 290 of epoch 0 by a " +
                 "seek to 321" });
    await assert.rejects(run(blocks[1]), /^Error: 99$/);
});

/* Its text has its WebAssembly, in blocks of either kind. */
test("what build.sh adds to unpack the module", () => {
    const text = fs.readFileSync("examples/js/inflate.mjs", "utf8");
    const inflate = new Function(`${text} return inflate;`)();
    const bytes = Uint8Array.from(text.repeat(9), (one) => one.charCodeAt(0));
    for (const strategy of [zlib.constants.Z_FIXED,
                            zlib.constants.Z_DEFAULT_STRATEGY])
        same(hex(inflate(zlib.deflateRawSync(bytes, { strategy }))),
             hex(bytes));
});

/* --- What a history does not know ----------------------------------------- */

const DESC = { numSamples: 500, seed: 3, batchSize: 4 };

/* A run, and what it does. */
function runOf(desc, ...acts) {
    const run = new RecordedSampler(desc);
    for (const act of acts)
        act(run);
    return run;
}
const go = (steps) => (run) => range(steps).forEach(() => run.skip());

test("states without a history", () => {
    const plain = new Sampler(DESC);
    range(20).forEach(() => plain.skip());
    const bare = new History(plain.save());
    same(bare.since, { epoch: 0, step: 20 });
    same(hex(bare.state), hex(plain.save()));
    const before = { kind: "EUNKNOWN",
                     message: /: not served since step 20 of epoch 0, where / };
    assert.throws(() => bare.at(19), before);
    assert.throws(() => bare.locate(7), before);
    assert.throws(() => bare.at(20), before);
    assert.throws(() => bare.at(3, { epoch: 1 }), { kind: "EUNSERVED" });
    for (const one of [bare, new History(new Sampler(DESC).save())])
        assert.throws(() => one.locate(500), /^RangeError: index must be below/);
    same(new History(new Sampler(DESC).save()).locate(499), []);
    /* It is the beginning of a history. */
    const run = new RecordedSampler({ ...DESC, batchSize: 2 });
    run.load(plain.save());
    const batch = run.next(), { history } = run;
    same([...history.at(20)[0].indices], [...batch]);
    assert.throws(() => history.at(19), before);
    assert.throws(() => history.at(21), before);
    assert.throws(() => history.at(21, { epoch: 1 }), { kind: "EUNSERVED" });
    run.seek(30); // over steps that it may have had before it came to 20
    run.next();
    assert.throws(() => run.history.at(25), { kind: "EUNKNOWN",
        message: "step 25 of epoch 0: not served since step 20 of epoch 0, " +
                 "where this history begins; skipped at step 21 of epoch 0 " +
                 "by a seek to 30" });
    const unknown = range(500).filter((index) => !batch.includes(index));
    assert.throws(() => history.locate(unknown[0]), before);
    same(history.locate(batch[1])[0].slot, 1);
    same(history.locate(batch[1], { limit: 0 }), []);
    same(history.locate(unknown[0], { epoch: 1 }), []);
    /* Back, for a sampler that keeps none. */
    plain.load(history.state);
    same(plain.step, 21);
    /* With CARRY steps count through all epochs. */
    const carry = new Sampler({ ...DESC, numSamples: 10, tail: "carry" });
    range(9).forEach(() => carry.skip());
    const ofCarry = new History(carry.save());
    same(ofCarry.since, { epoch: 3, step: 9 });
    for (const epoch of [3, 4])
        assert.throws(() => ofCarry.at(8, { epoch }), { kind: "EUNKNOWN" });
    for (const epoch of [2, 3])
        assert.throws(() => ofCarry.at(9, { epoch }), { kind: "EUNKNOWN" });
    const mix = new Mix([DESC, DESC]);
    mix.next();
    const ofMix = new History(mix.save());
    same(ofMix.since, { epoch: 0, step: 1 });
    assert.throws(() => ofMix.at(0),
                  /^SteeringError: turn 0 of epoch 0: not served since turn 1/);
    assert.throws(() => ofMix.locate(5, { source: 0 }), {
        kind: "EUNKNOWN",
        message: /sample 5 in epoch 0: not served since turn 1/ });
    const recorded = new RecordedMix([DESC, DESC]);
    recorded.load(mix.save());
    same(recorded.next().source, recorded.history.at(1)[0].source);
    assert.throws(() => recorded.history.at(0),
                  /turn 0 of epoch 0: not served since turn 1 of epoch 0, /);
});

test("a skip right after a resume on fewer ranks", () => {
    const desc = { numSamples: 1000, batchSize: 10 };
    for (const [kind, what, name] of [[RecordedSampler, desc, "step"],
                                      [RecordedMix, [desc], "turn"]]) {
        const made = (worldSize) => kind === RecordedMix
            ? new kind(what, { worldSize }) : new kind({ ...what, worldSize });
        const first = made(8), run = made(2); // an epoch of 13 steps
        range(5).forEach(() => first.next());
        run.load(first.save());
        run.seek(20);
        run.next();
        for (const step of [5, 6, 13, 19])
            assert.throws(() => run.history.at(step), { kind: "ESKIPPED",
                message: `${name} ${step} of epoch 0: skipped at ${name} 5 ` +
                         "of epoch 0 by a seek to 20" });
    }
});

test("a skip of a step that was there only later", () => {
    const { history } = runOf({ numSamples: 20, order: "sequential" }, go(5),
                              (run) => run.begin(1), (run) => run.begin(0),
                              (run) => run.resize(50), (run) => run.seek(10),
                              go(1), (run) => run.begin(1), go(1));
    for (const step of [25, 49])
        assert.throws(() => history.at(step, { epoch: 0 }), {
            message: `step ${step} of epoch 0: skipped at step 11 of epoch 0 ` +
                     "by a begin to 1" });
    assert.throws(() => history.at(50, { epoch: 0 }), { kind: "EUNSERVED" });
});

test("samples of an epoch within a step", () => {
    const run = runOf({ numSamples: 5, batchSize: 12, tail: "carry" }, go(2),
                      (one) => one.seek(4), go(1));
    const batches = range(5).map((step) =>
        step < 2 || step === 4 ? [...run.at(step)] : []);
    for (const epoch of range(14))
        for (const index of range(5)) {
            const want = range(5).map((i) => 5 * epoch + i).filter((at) =>
                batches[Math.floor(at / 12)]?.[at % 12] === index);
            same(run.history.locate(index, { epoch }).map(({ step, slot }) =>
                12 * step + slot), want);
        }
});

test("numbers above 2^32 and 2^53", () => {
    const many = new RecordedSampler({ numSamples: 2 ** 40, batchSize: 3 });
    const batch = many.next(), [{ indices }] = many.history.at(0);
    same([indices.constructor, [...indices]], [Float64Array, [...batch]]);
    same(many.history.locate(batch[2])[0].slot, 2);
    const huge = new RecordedSampler({ numSamples: 2n ** 60n, batchSize: 2,
                                       bigint: true });
    const wide = huge.next();
    same(huge.history.at(0)[0].indices, wide);
    same(huge.history.locate(wide[1])[0].position, 1n);
    assert.throws(() => new History(huge.save()).at(0),
                  /^RangeError: .* bigint: true/);
});

test("epochs after 2^64 - 1 begin again at 0", () => {
    const epoch = 2n ** 64n - 1n;
    const desc = { ...DESC, epoch, bigint: true };
    const run = runOf(desc, go(3), (one) => one.seek(9), go(99));
    while (run.epoch !== 1n)
        run.next();
    const again = new RecordedSampler(desc);
    again.load(run.save());
    for (const { history } of [run, again]) {
        const one = new Sampler(desc), served = one.next();
        same(history.at(0, { epoch })[0].indices, served);
        same(history.locate(served[0], { epoch })[0].step, 0n);
        one.begin(0);
        same(history.at(0, { epoch: 0 })[0].indices, one.next());
        assert.throws(() => history.at(5, { epoch }), { kind: "ESKIPPED" });
        assert.throws(() => history.at(0, { epoch: epoch - 1n }),
                      { kind: "EUNKNOWN" });
    }
    const mix = new RecordedMix([{ numSamples: 9, batchSize: 2, epoch }],
                                { stop: "never", bigint: true });
    const log = range(14).map(() => [...mix.next().indices]);
    for (const index of range(9).map(BigInt))
        same(mix.history.locate(index, { source: 0 }).map(({ step }) => step),
             log.flatMap((batch, turn) =>
                 batch.includes(index) ? [BigInt(turn)] : []));
});

/* --- Bad input ------------------------------------------------------------ */

/* A call that throws, and changes nothing. */
function refuses(things, call, what) {
    const state = () => things.map((one) => hex(one.save()));
    const before = state();
    checks++;
    assert.throws(call, what);
    same(state(), before);
}

const HEADERS = (error) => error instanceof StatesamplerError ||
                           error instanceof SteeringError;

test("histories that are damaged, cut, or of another run", () => {
    const run = runOf(DESC, go(9), (one) => one.seek(20), go(5));
    const saved = run.save();
    for (let at = 0; at < saved.length; at++) {
        const wrong = saved.slice();
        wrong[at] ^= 1 << at % 8;
        for (const one of [wrong, saved.subarray(0, at)]) {
            refuses([run], () => run.load(one), HEADERS);
            assert.throws(() => new History(one), HEADERS);
        }
    }
    const head = (one) => one.save().subarray(0, -112);
    const join = (history, state) => new Uint8Array([...history, ...state]);
    const other = runOf({ ...DESC, seed: 4 }, go(25));
    const early = runOf(DESC, go(12)), straight = runOf(DESC, go(25));
    for (const [state, kind] of [[other, "EOTHER"], [early, "EORDER"]]) {
        const wrong = join(head(run), state.history.state);
        refuses([run], () => run.load(wrong), { kind });
        assert.throws(() => new History(wrong), { kind });
    }
    /* At a place to which the history leads, too, its state is the run's. */
    run.load(join(head(run), straight.history.state));
    same(run.step, 25);
    refuses([run], () => run.load(other.save()), { kind: "EMISMATCH" });
    const mix = new RecordedMix([DESC, DESC]);
    mix.next();
    mix.weigh([2, 1]);
    mix.next();
    refuses([run, mix], () => run.load(mix.save()), { kind: "ECORRUPT" });
    refuses([run, mix], () => mix.load(run.save()), { kind: "ECORRUPT" });
    const three = new RecordedMix([DESC, DESC, DESC]);
    refuses([mix], () => mix.load(three.save()), { kind: "EMISMATCH" });
    const two = mix.save().subarray(0, -288);
    for (const one of [mix, History])
        assert.throws(() => one === mix
            ? mix.load(join(two, three.history.state))
            : new History(join(two, three.history.state)),
                      { kind: "EMISMATCH" });
    assert.throws(() => new History(join(head(run), mix.history.state)),
                  { kind: "EMISMATCH" });
    assert.throws(() => new History(join(two, run.history.state)),
                  { kind: "ECORRUPT" });
    for (const state of [undefined, null, "state", [1], {},
                         new ArrayBuffer(9)]) {
        refuses([run], () => run.load(state), /^TypeError: a state must be/);
        assert.throws(() => new History(state), /^TypeError: a state must be/);
    }
});

/* Two runs whose sources are at the same places: the history of one goes with
   the state of the other if both go on in the same way. With "all" it goes with
   none that had other weights. */
test("a history of another sequence of turns", () => {
    const made = (stop, [first, last, ...weights]) => {
        const mix = new RecordedMix(range(2).map((i) =>
            ({ ...DESC, numSamples: 50, weight: 1 + i })), { stop });
        range(first).forEach(() => mix.next());
        mix.weigh(weights);
        range(last - first).forEach(() => mix.next());
        mix.weigh([1, 2]);
        range(8 - last).forEach(() => mix.next());
        return mix;
    };
    const sizeOf = (mix) => mix.history.state.length;
    const places = (mix) => range(2).map((source) =>
        mix.progress(source).step).join();
    for (const stop of ["all", "never"]) {
        const counts = { alike: 0, apart: 0 };
        for (const first of range(8))
            for (const own of range(60)) {
                const last = first + 1 + own % 5;
                const weights = [2 + Math.floor(own / 5) % 3,
                                 1 + Math.floor(own / 15)];
                if (last > 8)
                    continue;
                const one = made(stop, [8, 8, 1, 2]);
                const other = made(stop, [first, last, ...weights]);
                if (places(one) !== places(other))
                    continue;
                const joined = new Uint8Array([
                    ...other.save().subarray(0, -sizeOf(other)),
                    ...one.history.state]);
                const next = (mix) => range(3).map(() => mix.next().source);
                const alike = String(next(one)) === String(next(other));
                counts[alike ? "alike" : "apart"]++;
                checks++;
                for (const read of [() => one.load(joined),
                                    () => new History(joined)])
                    if (alike && stop === "never")
                        read();
                    else
                        assert.throws(read, { kind: "EOTHER" });
            }
        assert.ok(counts.alike > 20 && counts.apart > 20,
                  JSON.stringify(counts));
    }
});

test("the places of a sample are as many as asked for", () => {
    const mix = new RecordedMix([{ numSamples: 1 }, { numSamples: 2 }],
                                { stop: "never" });
    range(1500).forEach(() => mix.next());
    mix.seek(1600);
    range(1500).forEach(() => mix.next());
    const { history } = mix;
    const places = (options) => history.locate(0, { source: 0, ...options });
    const all = places({ limit: 9999 });
    same([all.length, all[0].step, all.at(-1).step], [1500, 0, 3098]);
    same(places(), all.slice(0, 1000));
    for (const limit of [0, 1, 7n, 749, 750, 751])
        same(places({ limit }), all.slice(0, Number(limit)));
    for (const wrong of [-1, 0.5, Infinity, "9"])
        assert.throws(() => places({ limit: wrong }), /^RangeError: limit/);
    const twice = runOf({ ...DESC, numSamples: 4, batchSize: 1 }, go(2),
                        (run) => run.begin(0), go(4)).history;
    same([twice.locate(twice.at(0)[0].indices[0]).length,
          twice.locate(twice.at(0)[0].indices[0], { limit: 1 }).length],
         [2, 1]);
});

test("a note takes no longer in a long history", () => {
    const runs = range(3).map(() => runOf({ ...DESC, numSamples: 10 ** 9 }));
    const cost = (run, seeks) => {
        const start = process.cpuUsage();
        range(seeks).forEach(() => run.seek(run.step + 2));
        const { user, system } = process.cpuUsage(start);
        return (user + system) / seeks;
    };
    cost(runs[0], 30000); // until the code is compiled
    const short = cost(runs[1], 1000);
    cost(runs[2], 30000);
    const long = cost(runs[2], 1000), { history } = runs[2];
    assert.ok(long < 8 * short, `${long} and ${short} us`);
    same(history.since.step, 0);
    assert.throws(() => history.at(59999), { kind: "ESKIPPED" });
});

test("arguments of recorded samplers, mixes and histories", () => {
    const run = runOf(DESC, go(9), (one) => one.seek(20), go(5));
    const mix = new RecordedMix([DESC, { ...DESC, batchSize: 2 }]);
    for (let i = 0; i < 5; i++)
        mix.next();
    for (const wrong of [-1, 0.5, NaN, "1", null, undefined, 2n ** 64n]) {
        for (const name of ["seek", "begin", "setEpoch", "resize"])
            refuses([run], () => run[name](wrong), /^RangeError/);
        refuses([mix], () => mix.seek(wrong), /^RangeError/);
        refuses([run], () => run.history.at(wrong), /^RangeError: step must/);
        refuses([run], () => run.history.locate(wrong), /^RangeError: index/);
        for (const name of ["epoch", "rank"])
            if (wrong !== undefined)
                refuses([run], () => run.history.at(1, { [name]: wrong }),
                        /^RangeError/);
    }
    refuses([run], () => run.seek(1000), { kind: "ERANGE" });
    refuses([run], () => run.resize(400), { kind: "EINVAL" });
    refuses([run], () => run.reshape({ rank: 2, worldSize: 2 }),
            { kind: "EINVAL" });
    refuses([run], () => run.reshape({ rank: 0 }), /^RangeError: worldSize/);
    refuses([mix], () => mix.weigh([1]), /^RangeError: 1 weights for 2/);
    refuses([mix], () => mix.weigh([1, -1]), /^RangeError: weight/);
    refuses([mix], () => mix.weigh(["off", "off"]), { kind: "EINVAL" });
    refuses([mix], () => mix.reshape({ rank: 0, worldSize: 0.5 }), RangeError);
    refuses([mix], () => mix.history.locate(1), /^RangeError: source must be/);
    refuses([mix], () => mix.history.locate(1, { source: 2 }),
            /^RangeError: source must be below 2/);
    refuses([run], () => run.history.locate(1, { source: 0 }), /^TypeError/);
    refuses([run], () => run.history.at(1, { rank: 1 }),
            /^RangeError: step 1 of epoch 0: rank must be below 1, not 1/);
    const ended = runOf(DESC, go(130)); // an epoch of 125 steps
    for (const rank of [0, 1])
        refuses([ended], () => ended.history.at(125, { epoch: 0, rank }), {
            message: "step 125 of epoch 0: the run has not served it" });
    refuses([run], () => run.history.at(1, { ranks: 1 }), /^TypeError/);
    refuses([run], () => run.history.locate(500),
            /^RangeError: index must be below 500, not 500/);
    refuses([mix], () => mix.history.locate(500, { source: 1 }),
            /^RangeError: index must be below 500, not 500/);
    const grown = runOf({ ...DESC, numSamples: 20, order: "sequential" }, go(1),
                        (one) => one.resize(24), go(1),
                        (one) => one.resize(21));
    same(grown.history.locate(23), []);
    refuses([grown], () => grown.history.locate(24), /be below 24, not 24/);
    same(Object.prototype.toString.call(run.history), "[object statesampler]");
    /* Where it is already, and another rank alone, are no events. */
    const { length } = run.save();
    run.seek(run.step);
    run.setEpoch(0);
    run.reshape({ rank: 0, worldSize: 1 });
    same(run.save().length, length);
    run.begin(0);
    same(run.save().length, length + 32);
});

/* --- Schedules ------------------------------------------------------------ */

test("a schedule: shares, and any turn", () => {
    const sources = range(20).map((i) => ({ numSamples: 1000 + i }));
    const weight = (turn, i) => (1 + (turn * 31 + i * 17) % 7 / 100) / (1 + i);
    for (const [kind, turns] of [[Mix, 1], [RecordedMix, 7], [Mix, 100]]) {
        const plan = (turn) =>
            ({ turns, shares: sources.map((_, i) => weight(turn, i)) });
        const mix = new kind(sources, { stop: "never" });
        const schedule = new Schedule(mix, plan);
        const due = sources.map(() => 0), had = sources.map(() => 0);
        let later;
        for (let turn = 0; turn < 2100; turn++) {
            if (turn % turns === 0) {
                const { shares } = plan(turn);
                const sum = shares.reduce((all, one) => all + one);
                const some = Math.min(turns, 2100 - turn);
                shares.forEach((share, i) => due[i] += some * share / sum);
            }
            if (turn === 1050)
                later = [mix.save(), schedule.save()];
            had[schedule.next().source]++;
        }
        due.forEach((turns, i) => {
            checks++;
            assert.ok(Math.abs(turns - had[i]) < 2, `${i}: ${turns} ${had[i]}`);
        });
        /* Saved on the way, or sought at once, it comes to the same place. */
        const next = range(300).map(() => schedule.next().source);
        const loaded = new kind(sources, { stop: "never" });
        const sought = new kind(sources, { stop: "never" });
        const again = [new Schedule(loaded, plan), new Schedule(sought, plan)];
        loaded.load(later[0]);
        again[0].load(later[1]);
        range(1050).forEach(() => again[0].next());
        again[1].seek(2100n);
        for (const one of again)
            same(range(300).map(() => one.next().source), next);
        same(again.map((one) => hex(one.save())),
             [hex(schedule.save()), hex(schedule.save())]);
    }
});

test("a schedule: what any turn serves, by the mix, too", () => {
    const sources = range(4).map((i) => (
        { numSamples: 10 + i, batchSize: 2, epoch: i, seed: 7 }));
    const plan = (turn) => ({ turns: 3 + Number(turn) % 5, shares:
        range(4).map((i) => (Number(turn) + i) % 3) });
    const plain = ({ source, indices }) => [source, [...indices]];
    for (const [kind, bigint] of [[Mix, false], [RecordedMix, true]]) {
        const made = () => {
            const mix = new kind(sources, { stop: "never", bigint });
            return [mix, new Schedule(mix, plan)];
        };
        const [straight, all] = made();
        const log = range(300).map(() => plain(all.next()));
        const [mix, schedule] = made(), [loaded, after] = made();
        range(100).forEach(() => mix.next());
        loaded.load(mix.save());
        after.load(schedule.save());
        for (const one of [schedule, mix, after, loaded]) {
            const before = [mix, schedule, loaded, after].map((each) =>
                hex(each.save()));
            for (const turn of [99, 100, 0, 299, 101, 50, ...range(40).map(() =>
                random(300))])
                same(plain(one.at(turn)), log[turn]);
            const into = new BigUint64Array(5);
            const { indices } = one.at(250n, into);
            same([indices.buffer === into.buffer, [...indices].map(Number)],
                 [true, log[250][1].map(Number)]);
            for (const far of [-1, 2 ** 45, 2n ** 63n])
                for (const act of ["at", "seek"])
                    assert.throws(() => one[act](far),
                                  /^RangeError: turn must be .* to 2\^45 - 1/);
            assert.throws(() => one.at(9, []), /^TypeError: an array of ind/);
            same([mix, schedule, loaded, after].map((each) =>
                hex(each.save())), before);
        }
        for (const turn of [250, 20, 0, 120, 119, 40]) {
            const one = random(2) ? loaded : after;
            one.seek(turn);
            same(Number(loaded.turn), turn);
            same(plain(one.next()), log[turn]);
        }
        same(plain(loaded[Symbol.iterator]().next().value), log[41]);
        all.seek(42);
        same(hex(all.save()), hex(after.save()));
        if (kind === Mix)
            continue;
        /* What was served and what was skipped, the last 42 turns twice. */
        const { history } = straight;
        log.forEach((want, turn) => {
            const found = history.at(turn, { epoch: 0 }).map(plain);
            same(found, [want]);
        });
        all.next();
        same(straight.history.at(42).map(plain), [log[42], log[42]]);
    }
    /* A mix that is elsewhere: nobody knows how it began. */
    const [mix] = [new Mix(sources, { stop: "never" })];
    range(9).forEach(() => mix.next());
    const late = new Schedule(mix, plan);
    const whole = new Mix(sources, { stop: "never" });
    const other = new Schedule(whole, plan);
    range(9).forEach(() => other.next());
    late.load(other.save());
    mix.load(whole.save());
    same(plain(mix.next()), plain(whole.next()));
    assert.throws(() => mix.at(0), { kind: "ETURN" });
    refuses([mix, late], () => mix.seek(0), { kind: "ETURN" });
});

test("a schedule goes back to before where its history begins", () => {
    const mix = new RecordedMix([{ numSamples: 50 },
                                 { numSamples: 40, stream: 1 }],
                                { stop: "never" });
    const schedule = new Schedule(mix, () => ({ turns: 4, shares: [1, 2] }));
    const plain = ({ source, indices }) => [source, ...indices];
    range(11).forEach(() => mix.next());
    mix.load(mix.history.state); // begins a history, in mid-stage
    const log = range(40).map(() => []);
    for (const to of [11, 6, 2, 9, 30, 3, 12]) {
        schedule.seek(to);
        same(mix.turn, to);
        log[to].push(plain(mix.next()));
    }
    const { history } = mix;
    log.forEach((served, turn) => {
        if (served.length > 0)
            same(history.at(turn).map(plain), served);
        else
            assert.throws(() => history.at(turn), SteeringError);
    });
});

/* A question about a turn plans on from the last one, and still answers what a
   schedule does that has answered none. */
test("a schedule: many turns, one after the other", () => {
    const sources = range(3).map((i) => ({ numSamples: 20 + i, batchSize: 2 }));
    let plans = 0, worldSize = 2;
    const plan = (turn) => {
        plans++;
        return { turns: 4, shares: [1, 1 + turn % 3, 2] };
    };
    const made = () => {
        const mix = new RecordedMix(sources, { stop: "never", worldSize });
        return [mix, new Schedule(mix, plan)];
    };
    const [mix, schedule] = made();
    const fresh = (turn) => {
        const [other, its] = made();
        other.load(mix.save());
        its.load(schedule.save());
        return its.at(turn);
    };
    schedule.seek(200);
    for (const turn of [0, 100, 199, 203, 400, 600]) {
        schedule.at(turn);
        plans = 0;
        range(40).forEach((i) => schedule.at(turn < 200 ? turn + i / 40 | 0
                                                        : turn + i));
        checks++;
        assert.ok(plans <= 12, `${plans} plans from turn ${turn} on`);
    }
    const acts = [
        () => schedule.next(), () => schedule.seek(mix.turn + random(30)),
        () => schedule.seek(Math.max(mix.turn - random(50), 0)),
        () => mix.reshape({ rank: 0, worldSize: worldSize = 1 + random(3) }),
        () => { /* as another process */
            const saved = [mix.save(), schedule.save()];
            range(5).forEach(() => schedule.next());
            mix.load(saved[0]);
            schedule.load(saved[1]);
        }];
    for (let left = 300; left > 0; left--) {
        if (random(2))
            pick(acts)();
        const begin = mix.turn - mix.turn % 4; /* of the stage, or its end */
        const turn = begin > 4 && random(2) ? random(begin - 4)
                                            : begin + 4 + random(60);
        same(schedule.at(turn), fresh(turn), `turn ${turn} at ${mix.turn}`);
    }
});

/* On other ranks an earlier turn is that of a straight run, and leads to none
   that is to come: in any order of loads, and after an error. */
test("a schedule: turns to come, asked after earlier ones", () => {
    const made = (worldSize) => {
        const mix = new Mix([DESC, DESC], { stop: "never", worldSize });
        return [mix, new Schedule(mix, () => ({ turns: 50,
                                                shares: [7, 3] }))];
    };
    const [before, its] = made(2);
    range(25).forEach(() => before.next());
    const mixes = before.save(), stage = its.save();
    for (const load of [
        (mix, schedule) => { schedule.load(stage); mix.load(mixes); },
        (mix, schedule) => { mix.load(mixes); schedule.load(stage); },
        (mix) => { mix.next(); mix.load(mixes); },
        (mix, schedule) => {
            mix.load(mixes);
            schedule.load(stage);
            assert.throws(() => schedule.locate(0, 500), { kind: "ERANGE" });
        }]) {
        const [mix, schedule] = made(3), have = [];
        load(mix, schedule);
        for (const turn of range(60))
            for (const one of [turn % 25, 25 + turn])
                have[one] = mix.at(one);
        same(have.slice(25), range(60).map(() => mix.next()));
    }
});

/* It reports when it is asked, or just before, also for a look ahead and for a
   seek, and of a stage that turns out to be impossible. */
test("a schedule whose plan tells of the tokens itself", () => {
    const run = (inPlan) => {
        const mix = new Mix([DESC, DESC], { stop: "never" });
        const sources = [], late = [];
        let fails = false;
        const report = () => {
            for (const told of late.splice(0))
                schedule.had(...told);
        };
        const schedule = new Schedule(mix, () => {
            if (inPlan)
                report();
            return { turns: fails ? 0 : 10, shares: [1, 1],
                     means: [100, 100] };
        });
        while (sources.length < 300) {
            const { turn } = mix;
            if (!inPlan)
                report();
            if (turn % 30 === 10)
                schedule.at(turn);
            fails = turn % 40 === 20;
            if (fails)
                assert.throws(() => schedule.follow(), { kind: "ETURNS" });
            fails = false;
            if (turn % 50 === 40)
                schedule.seek(turn + 1);
            const { source } = schedule.next();
            sources.push(source);
            late.push([source, source === 0 ? 300 : 100]);
        }
        return sources;
    };
    const sources = run(true);
    same(sources, run(false));
    const first = sources.filter((source) => source === 0).length;
    assert.ok(Math.abs(first - 75) < 5, String(first));
});

test("a schedule: where a sample comes", () => {
    const sources = range(4).map((i) => ({ numSamples: 10 + i, batchSize: 2 }));
    for (const bigint of [false, true]) {
        const mix = new RecordedMix(sources, { stop: "never", bigint });
        const schedule = new Schedule(mix, (turn) => ({
            turns: 3, shares: range(4).map((i) => (Number(turn) + i) % 3) }));
        range(25).forEach(() => schedule.next());
        const before = [mix.save(), schedule.save()].map(hex);
        const [source, last] = [1, Number(mix.progress(1).step)];
        const places = range(11).map((index) => {
            try {
                return schedule.locate(source, index);
            } catch (error) {
                same(error.kind, "ERANGE"); /* served before the base */
                return null;
            }
        });
        same([mix.save(), schedule.save()].map(hex), before);
        same(places.filter((one) => one?.step >= last).length,
             11 - 2 * last);
        for (let left = 60; left > 0; left--) {
            const { turn } = mix, served = schedule.next();
            if (served.source !== source || mix.progress(1).epoch > 0)
                continue;
            Array.from(served.indices).forEach((index, slot) => {
                const place = places[Number(index)];
                if (Number(mix.progress(1).step) * 2 <= 10 || slot === 0)
                    same([place.turn, Number(place.slot)], [turn, slot]);
            });
        }
    }
    const never = new Schedule(new Mix([DESC, DESC], { stop: "never" }),
                               () => ({ turns: 3, shares: [1, 0] }));
    refuses([never], () => never.locate(1, 0), { kind: "ELATER" });
    refuses([never], () => never.locate(2, 0), { kind: "ERANGE" });
    refuses([never], () => never.locate(0, 10 ** 9), { kind: "ERANGE" });
    refuses([never], () => never.locate(0, -1), /^RangeError: index must/);
    refuses([never], () => never.locate(-1, 0), /^RangeError: source must/);
    const empty = new Schedule(new Mix([DESC, { ...DESC, numSamples: 0 }],
                                       { stop: "never" }),
                               () => ({ turns: 3, shares: [1, 1] }));
    refuses([empty], () => empty.next(), { kind: "ESTEPS" });
});

test("a schedule: `at` has a sample where `locate` says, on other ranks", () => {
    let places = 0;
    for (let run = 0; run < 100; run++) {
        const sources = range(pick([1, 1, 2, 4])).map(() => (
            { numSamples: 1 + random(20), batchSize: 2 }));
        const made = () => {
            const worldSize = 1 + random(3);
            const mix = new Mix(sources, { stop: "never", worldSize });
            return [mix, new Schedule(mix, () => ({
                turns: 2, shares: sources.map(() => 1) }))];
        };
        const [before, stages] = made(), [mix, schedule] = made();
        range(random(30)).forEach(() => before.next());
        mix.load(before.save());
        schedule.load(stages.save());
        range(random(15)).forEach(() => mix.next());
        sources.forEach(({ numSamples }, source) => {
            for (const index of range(numSamples)) {
                let place;
                try {
                    place = mix.locate(source, index);
                } catch (error) {
                    same(error.kind, "ERANGE"); /* it was served before */
                    continue;
                }
                if (place.rank !== 0)
                    continue;
                const { source: its, indices } = mix.at(place.turn);
                same([its, indices[place.slot]], [source, index]);
                places += place.turn < mix.turn;
            }
        });
    }
    assert.ok(places > 20, `${places}`);
});

test("a source with a share that has no steps on more ranks is refused", () => {
    const made = (worldSize) => {
        const mix = new RecordedMix([20, 900, 900].map((numSamples) => ({
            numSamples, batchSize: 8, dropLast: true })),
            { stop: "never", worldSize, rank: 0 });
        return [mix, new Schedule(mix, () =>
            ({ turns: 20, shares: [2, 1, 1] }))];
    };
    for (const turns of [0, 20, 23, 39]) {
        const [mix, schedule] = made(1), [more, its] = made(4);
        range(turns).forEach(() => mix.next());
        more.load(mix.save());
        its.load(schedule.save());
        mix.reshape({ worldSize: 4, rank: 0 });
        refuses([mix, schedule], () => mix.next(), { kind: "ESTEPS" });
        refuses([more, its], () => more.next(), { kind: "ESTEPS" });
        refuses([more, its], () => more.at(turns), { kind: "ESTEPS" });
        mix.reshape({ worldSize: 1, rank: 0 });
        same(mix.next() !== null, true);
    }
});

test("a schedule of a recorded mix notes its weights", () => {
    const mix = new RecordedMix([DESC, DESC, DESC], { stop: "never" });
    const schedule = new Schedule(mix, (turn) =>
        ({ turns: 5, shares: [1, turn % 3, 0.2] }));
    const log = range(99).map(() => schedule.next());
    schedule.seek(200);
    log.push(...range(9).map(() => schedule.next()));
    const { history } = mix;
    log.forEach(({ source, indices }, i) => {
        const [one] = history.at(i < 99 ? i : i + 101);
        same([one.source, [...one.indices]], [source, [...indices]]);
    });
    for (const turn of [99, 150, 199])
        assert.throws(() => history.at(turn), { kind: "ESKIPPED",
            message: /skipped at turn 99 of epoch 0 by a seek to 200$/ });
    let count = 0;
    for (const { source } of schedule) {
        same(mix.history.at(mix.turn - 1)[0].source, source);
        if (++count === 10)
            break;
    }
});

test("shares of tokens in short stages", () => {
    for (const [mean, turns] of [[1, 1], [8, 1], [8, 7], [2048, 7]]) {
        const schedule = new Schedule(
            new Mix([DESC, DESC, DESC, DESC], { stop: "never" }),
            () => ({ turns, shares: [.55, .3, .1, .05],
                     means: [mean, mean, mean, mean] }));
        const had = [0, 0, 0, 0];
        for (let turn = 0; turn < 3000; turn++) {
            const { source } = schedule.next();
            had[source]++;
            schedule.had(source, mean);
        }
        checks++;
        assert.ok([1650, 900, 300, 150].every((wanted, i) =>
            Math.abs(had[i] - wanted) <= 1), String(had));
    }
});

test("shares of tokens", () => {
    const mix = new Mix([DESC, DESC], { stop: "never" });
    const schedule = new Schedule(mix, () =>
        ({ turns: 10, shares: [1, 1], means: [10, 10] }));
    const had = [0, 0];
    for (let turn = 0; turn < 4000; turn++) {
        const { source } = schedule.next(), tokens = source === 0 ? 30 : 5;
        had[source] += tokens;
        schedule.had(source, tokens);
    }
    const { indices } = schedule.at(mix.turn); // where a stage begins
    same(schedule.next().indices, indices);
    checks++;
    assert.ok(Math.abs(had[0] / had[1] - 1) < 0.02, String(had));
    /* What is not told of a source is an error when its stage has ended. */
    const end = mix.turn + 9;
    schedule.had(0, 5);
    while (mix.turn < end)
        schedule.next();
    for (const call of [() => schedule.next(), () => schedule.at(end),
                        () => schedule.seek(end + 1)])
        refuses([mix, schedule], call, { kind: "EHAD",
            message: "nothing was told of a source in the stage: call had" });
    schedule.had(1, 0);
    same(schedule.next().indices.length, 4);
    schedule.seek(end + 10); // of turns that are passed over nothing
    same(schedule.next().indices.length, 4);
    const off = new Schedule(new Mix([DESC, DESC], { stop: "never" }),
                             () => ({ turns: 2, shares: [1, 0],
                                      means: [10, 10] }));
    off.next();
    refuses([off], () => off.had(1, 5), { kind: "ERANGE" });
    off.had(0, 5);
});

test("a schedule that begins in mid-run", () => {
    const mix = new RecordedMix([DESC, DESC], { stop: "never" });
    range(5).forEach(() => mix.next());
    const schedule = new Schedule(mix, (turn) =>
        ({ turns: 4, shares: turn % 8 === 5 ? [1, 0] : [1, 3],
           means: [10, 10] }));
    const ahead = schedule.at(6);
    const sources = range(8).map(() => {
        const { source, indices } = mix.next();
        same(mix.turn !== 7 || [...ahead.indices], mix.turn !== 7 ||
             [...indices]);
        schedule.had(source, 10);
        return source;
    });
    same(sources.slice(0, 4), [0, 0, 0, 0]);
    same(sources.slice(4).sort(), [0, 1, 1, 1]);
    const past = [() => mix.seek(4), () => mix.at(4), () => mix.at(8)];
    for (const call of past)
        refuses([mix, schedule], call, { kind: "ETURN" });
    /* Nor in a process that has seen turn 0. */
    const again = new RecordedMix([DESC, DESC], { stop: "never" });
    const loaded = new Schedule(again, () => ({ turns: 4, shares: [1, 3] }));
    again.load(mix.save());
    loaded.load(schedule.save());
    for (const turn of [4, 8]) {
        refuses([again, loaded], () => loaded.seek(turn), { kind: "ETURN" });
        refuses([again, loaded], () => loaded.at(turn), { kind: "ETURN" });
    }
});

/* The state of a mix from just before a stage began, and that of the schedule
   from just after: at one turn, of two checkpoints. */
test("a mix and a schedule of two checkpoints", () => {
    for (const turns of [4, 5]) {
        const made = () => {
            const mix = new Mix([DESC, DESC], { stop: "never" });
            return [mix, new Schedule(mix, (turn) => ({
                turns: turn < 4 ? 4 : turns, shares: [1, 1 + turn] }))];
        };
        const [mix, schedule] = made();
        range(4).forEach(() => mix.next());
        const before = mix.save();
        schedule.follow();
        const [other, loaded] = made(), after = mix.save();
        other.load(before);
        loaded.load(schedule.save());
        if (turns !== 4) /* a stage as long looks the same */
            for (const call of [() => other.next(), () => loaded.seek(6)])
                refuses([other, loaded], call, { kind: "EWEIGHTS" });
        other.load(after);
        same(range(9).map(() => other.next()), range(9).map(() => mix.next()));
    }
});

test("a mix that is loaded without its schedule", () => {
    const mix = new RecordedMix([DESC, DESC], { stop: "never" });
    const schedule = new Schedule(mix, (turn) =>
        ({ turns: 4, shares: turn % 8 ? [1, 0] : [0, 1] }));
    range(4).forEach(() => mix.next());
    const saved = [mix.save(), schedule.save()];
    const { indices } = mix.next();
    mix.load(saved[0]);
    for (const call of [() => mix.next(), () => schedule.seek(5),
                        () => mix.next()])
        refuses([mix, schedule], call, { kind: "EWEIGHTS",
            message: "the mix has other weights than the stage: load both " +
                     "states" });
    schedule.load(saved[1]);
    same(mix.next(), { source: 0, indices });
});

test("schedules that are impossible", () => {
    const first = new Mix([DESC, DESC]);
    assert.throws(() => new Schedule(first, () => 0), { kind: "ESTOP" });
    for (const wrong of [undefined, null, {}, new Sampler(DESC)])
        assert.throws(() => new Schedule(wrong, () => 0),
                      /^TypeError: a schedule needs a Mix/);
    for (const wrong of [undefined, null, { turns: 1 }, [1]])
        assert.throws(() => new Schedule(new Mix([DESC], { stop: "never" }),
                                         wrong), /^TypeError: a plan must be/);
    const good = { turns: 4, shares: [1, 2] };
    let answer = good;
    const mix = new RecordedMix([DESC, DESC], { stop: "never" });
    const schedule = new Schedule(mix, () => {
        if (answer instanceof Error)
            throw answer;
        return answer;
    });
    range(4).forEach(() => schedule.next());
    const own = new Error("the plan's own");
    for (const [wrong, what] of [
        [{ ...good, shares: [0, 0] }, { kind: "ESHARES" }],
        [{ ...good, shares: [1, -1] }, { kind: "ESHARES" }],
        [{ ...good, shares: [NaN, 1] }, { kind: "ESHARES" }],
        [{ ...good, shares: [Infinity, 1] }, { kind: "ESHARES" }],
        [{ ...good, turns: 0 }, { kind: "ETURNS" }],
        [{ ...good, turns: 2 ** 28 + 1 }, { kind: "ETURNS" }],
        [{ ...good, turns: 2 ** 28, means: [2 ** 22 + 1, 5] },
         { kind: "ETURNS" }],
        [{ ...good, means: [0, 5] }, { kind: "EMEANS" }],
        [{ ...good, means: [2 ** 31, 5] }, { kind: "EMEANS" }],
        [{ ...good, turns: -1 }, /^RangeError: turns must be/],
        [{ ...good, turns: undefined }, /^RangeError: turns must be/],
        [{ ...good, shares: [1] }, /^RangeError: 1 shares for 2 sources/],
        [{ ...good, means: [1, 2, 3] }, /^RangeError: 3 means for 2 sources/],
        [{ ...good, shares: ["1", 2] }, /^TypeError: a share must be a num/],
        [{ ...good, shares: [1n, 2] }, /^TypeError: a share must be a num/],
        [{ turns: 4 }, /^TypeError: shares must be an array or .* undefined$/],
        [{ ...good, means: 5 }, /^TypeError: means must be an array or .* 5$/],
        [{ ...good, weights: [1, 2] }, /^TypeError: a field must be one of/],
        [undefined, TypeError], [own, own]]) {
        answer = wrong;
        refuses([mix, schedule], () => schedule.next(), what);
        refuses([mix, schedule], () => schedule.seek(9), what);
    }
    refuses([schedule], () => schedule.had(2, 5), { kind: "ERANGE" });
    refuses([schedule], () => schedule.had(0, 5), { kind: "EMEANS",
        message: /^means should be 1 to 2\^31 - 1 .* without had$/ });
    refuses([schedule], () => schedule.had(0, 2 ** 31),
            /^RangeError: tokens must be .* 2\^31 - 1, not 2147483648/);
    refuses([schedule], () => schedule.had(-1, 5), /^RangeError: source must/);
    refuses([schedule], () => schedule.had(0, -5), /^RangeError: tokens must/);
    answer = good;
    schedule.next();
    refuses([mix, schedule], () => mix.weigh([1, 2]),
            /^TypeError: the weights are those of the schedule/);
    refuses([mix, schedule], () => schedule.seek(-1), /^RangeError: turn must/);
    const state = schedule.save();
    for (const at of range(state.length)) {
        const wrong = state.slice();
        wrong[at] ^= 1 << at % 8;
        for (const one of [wrong, state.subarray(0, at)])
            refuses([schedule], () => schedule.load(one), { kind: "ECORRUPT" });
    }
    refuses([schedule], () => schedule.load([1, 2]), /^TypeError: a state/);
    /* A mix that was moved by hand is not in the stage. */
    RecordedMix.prototype.seek.call(mix, 50);
    refuses([mix, schedule], () => schedule.next(), { kind: "ETURN" });
    refuses([mix, schedule], () => mix.at(50), { kind: "ETURN" });
    RecordedMix.prototype.seek.call(mix, 5);
    /* A plan may use all of this, another schedule, too. */
    const inner = new Schedule(new Mix([DESC], { stop: "never" }),
                               () => ({ turns: 1, shares: [1] }));
    answer = { get turns() {
        inner.next();
        return mix.history.at(2).length + 2;
    }, shares: [1, 2] };
    range(20).forEach(() => schedule.next());
    same(mix.turn, 25);
    /* Where a stage on the way is impossible, both are at its beginning. */
    const third = new RecordedMix([DESC, DESC], { stop: "never" });
    let worst = -1;
    const stage = (turn) => ({
        turns: 10, shares: turn % 20 ? [9, 1] : [1, 2] });
    const far = new Schedule(third, (turn) => turn < 30
        ? stage(turn) : { turns: 10, shares: [1, worst] });
    far.next();
    assert.throws(() => far.seek(99), { kind: "ESHARES" });
    same(third.turn, 30);
    const straight = new Mix([DESC, DESC], { stop: "never" });
    const alike = new Schedule(straight, (turn) => turn < 30
        ? stage(turn) : { turns: 10, shares: [1, 2] });
    range(30).forEach((turn) => {
        const serving = alike.next();
        far.seek(0);
        assert.throws(() => far.seek(99), { kind: "ESHARES" });
        same(far.at(turn), serving);
        far.seek(turn);
        same(far.next(), serving);
    });
    worst = 2;
    same(range(50).map(() => far.next().source),
         range(50).map(() => alike.next().source));
    same(hex(far.save()), hex(alike.save()));
    /* Nor does an error of the mix's own class end C's calls half-way. */
    let angry = true;
    class Angry extends Mix {
        weigh(weights) {
            if (angry)
                throw own;
            super.weigh(weights);
        }
    }
    const fourth = new Angry([DESC, DESC], { stop: "never" });
    const later = new Schedule(fourth, () => good);
    for (let i = 0; i < 1000; i++)
        assert.throws(() => later.next(), own);
    angry = false;
    later.next();
    same(fourth.turn, 1);
    /* Shares of tokens: later stages are not known. */
    answer = { ...good, means: [5, 6] };
    const other = new Schedule(new Mix([DESC, DESC], { stop: "never" }),
                               () => answer);
    other.next();
    for (const turn of [4, 7, 99])
        refuses([other], () => other.at(turn), { kind: "ETOKENS" });
    refuses([other], () => other.seek(99), { kind: "ETOKENS" });
    assert.throws(() => range(99).forEach((i) => other.locate(1, i)),
                  { kind: "ETOKENS" });
});

after(() => console.log(`note: ${checks} checks`));
