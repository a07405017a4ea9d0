/* steering.mjs - runs that people steer by seeks, other ranks, other weights

       import { RecordedSampler, History } from "./steering.mjs";

       const run = new RecordedSampler(desc); // a Sampler that keeps a history
       run.seek(321);
       const saved = run.save(); // the history, and the state behind it
       const [{ indices }] = new History(saved).at(200); // of any step

   RecordedMix is a Mix that does so, and a Schedule gives any Mix weights that
   change often. They are history.h and schedule.h of examples/extras, with the
   same bytes. The declarations are in steering.d.mts.

   The headers are WebAssembly of their own, in this module's text. Its structs
   are those of statesampler.mjs: a call copies a sampler or mix here, does
   there what its class does and here what notes it. */
import { Audit, Mix, Sampler, StatesamplerError, describeMix, describeState,
         internals } from "./statesampler.mjs";

const { c: main, enter, make, bring, fetched, batchOf, big, half, give, known,
        listOf, shown, Tagged } = internals;

/* --- WebAssembly ---------------------------------------------------------- */

/* What a schedule asks for and does while C runs: of the innermost call. */
let host = null;

const unsigned = (value) => BigInt.asUintN(64, value);

/* build.sh adds inText, which has the WebAssembly, deflated; and inflate, or
   takes that from the npm package's module, which has it, too. */
const [base64] = inText();
const packed = Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
const c = new WebAssembly.Instance(new WebAssembly.Module(inflate(packed)), {
    js: {
        plan: (schedule, turn) => host.plan(schedule, unsigned(turn)),
        weigh: (weights) => host.weigh(weights >>> 0),
        seek: (turn) => host.seek(unsigned(turn)),
        begin: (mix) => host.begin(mix >>> 0),
    } }).exports;

/* --- memory --------------------------------------------------------------- */

const wordsAt = c.start();
const told = (count, at = wordsAt) =>
    new BigUint64Array(c.memory.buffer, at, count).slice();
const [heap, HISTORY, READING, SCHEDULE, STAGE, SHARE, SOURCE] =
    Array.from(told(7), Number);
const PAGE = 65536;
let top = heap; /* the end of what calls use now */

/* Gives a call places of these sizes in memory. Calls within it, such as those
   of a plan, get theirs behind. */
function within(sizes, use) {
    const before = top;
    const places = sizes.map((size) => {
        const at = top;
        top += Math.ceil(size / 16) * 16;
        return at;
    });
    try {
        const more = Math.ceil(top / PAGE) - c.memory.buffer.byteLength / PAGE;
        if (more > 0)
            c.memory.grow(more);
        return use(...places);
    } finally {
        top = before;
    }
}

const put = (at, from) => new Uint8Array(c.memory.buffer).set(from, at);
const get = (at, size) => new Uint8Array(c.memory.buffer).slice(at, at + size);

/* Where the main module has the struct of the object that it works with, and
   the size of a sampler's. */
const [, PLACE, SAMPLER] =
    new Uint32Array(main.memory.buffer, main.start(), 3);

/* The struct of a sampler or mix. */
function structOf(thing, size) {
    enter(thing);
    return new Uint8Array(main.memory.buffer).slice(PLACE, PLACE + size);
}

const putMain = (at, from) => new Uint8Array(main.memory.buffer).set(from, at);

/* A mix becomes what such a struct says, but for its first word: where it has
   its sources. */
function become(mix, struct) {
    enter(mix);
    putMain(PLACE + 4, struct.subarray(4));
}

/* What a mix's state says. */
const placeOf = (mix) => describeMix(Mix.prototype.save.call(mix), 0);

/* A copy of the bytes in an argument. */
const bytesIn = (state) => fetched(bring(new Audit(), state));

/* --- errors --------------------------------------------------------------- */

/* Those of history.h and schedule.h. */
const KINDS = { [-1031]: "EEPOCH" };
"ESHARES ETURNS EMEANS ESTOP ETURN ETOKENS EOWED ELATER ESTEPS EHAD EWEIGHTS"
    .split(" ").forEach((kind, i) => KINDS[-1301 - i] = kind);
"EORDER EOTHER EEVENT"
    .split(" ").forEach((kind, i) => KINDS[-1402 - i] = kind);

export class SteeringError extends Error {
    constructor(kind, message) {
        super(message);
        this.name = "SteeringError";
        this.kind = kind;
    }
}

/* Returns a code, or throws if it is an error. */
function check(code) {
    if (code >= 0)
        return code;
    if (!KINDS[code])
        throw new StatesamplerError(code);
    const all = new Uint8Array(c.memory.buffer), at = c.error(code);
    throw new SteeringError(KINDS[code], String.fromCharCode(
        ...all.subarray(at, all.indexOf(0, at))));
}

/* --- what is noted -------------------------------------------------------- */

/* The history of a sampler, or of a mix of so many sources. */
class Notes {
    #thing;
    #sources;
    #size; /* of the thing's struct */
    #struct = new Uint8Array(0); /* C's */
    #bytes = new Uint8Array(0); /* what was noted, and room for more */
    #used = 0;

    /* init: C's history_init or history_mix_init. */
    constructor(thing, sources, init) {
        this.#thing = thing;
        this.#sources = sources;
        this.#size = sources > 0 ? main.mix_bytes(sources) >>> 0 : SAMPLER;
        this.#call(0, [], (h, s) => check(init(h, s)));
    }

    /* Calls C with a copy of the history's struct, the room behind it, a copy
       of the thing, and more places; and keeps what it has added there, or, if
       that is `more` bytes, has put in place of all. There is room for two
       events, or for any beginning. */
    #call(more, sizes, use) {
        const room = more + 256 + 144 * this.#sources;
        within([HISTORY + room, this.#size, ...sizes], (h, s, ...places) => {
            put(h, this.#struct);
            put(s, structOf(this.#thing, this.#size));
            use(h, s, ...places);
            this.#struct = get(h, HISTORY);
            const used = c.used(h), from = more ? 0 : this.#used;
            if (used > this.#bytes.length) {
                const before = this.#bytes;
                this.#bytes = new Uint8Array(2 * used);
                this.#bytes.set(before);
            }
            this.#bytes.set(get(h + HISTORY, used - from), from);
            this.#used = used;
        });
    }

    /* Does something to the thing as its class does, and to the copy as
       history.h does, which notes it, perhaps with weights. If the class
       throws, nothing is noted; else C does not refuse it either, as it is the
       same. */
    note(act, noted, weights = []) {
        this.#call(0, [4 * weights.length], (h, s, at) => {
            act();
            new Uint32Array(c.memory.buffer, at, weights.length).set(weights);
            check(noted(h, s, at));
        });
    }

    /* The history, and the state behind it. */
    saved(state) {
        const bytes = this.#bytes.subarray(0, this.#used);
        return within([HISTORY + this.#used + 8 + state.length], (h) => {
            put(h, this.#struct);
            put(h + HISTORY, bytes);
            const size = c.save(h);
            put(h + HISTORY + size, state);
            return get(h + HISTORY, size + state.length);
        });
    }

    /* Loads what was saved, with a history or without; `load` loads the state
       in it as the class does. */
    load(state, load) {
        const saved = bytesIn(state), size = saved.length, n = this.#sources;
        const memory = n > 0 ? [n * SOURCE, 4 * n, size] : [];
        const loads = n > 0 ? c.mix_load : c.load;
        this.#call(size, [size, ...memory], (h, s, at, ...places) => {
            put(at, saved);
            const begin = check(loads(h, s, at, size, ...places));
            load(saved.subarray(begin));
        });
    }
}

/* The notes of each object. */
const notes = new WeakMap();

/* A class that notes what is done to it, besides going on. Its subclass says
   what begins its notes, and notes its own methods. */
const recorded = (Base, begin) => class extends Base {
    constructor(...made) {
        super(...made);
        notes.set(this, begin(this));
    }

    get history() {
        return new History(notes.get(this).saved(super.save()),
                           { bigint: this.bigint });
    }

    save() {
        return notes.get(this).saved(super.save());
    }

    load(state) {
        notes.get(this).load(state, (bare) => super.load(bare));
    }
};

export class RecordedSampler extends recorded(
    Sampler, (sampler) => new Notes(sampler, 0, c.init)) {
    seek(step) {
        notes.get(this).note(
            () => super.seek(step),
            (h, s) => c.seek(h, s, BigInt(step)));
    }

    begin(epoch) {
        notes.get(this).note(
            () => super.begin(epoch),
            (h, s) => c.begin(h, s, BigInt(epoch)));
    }

    setEpoch(epoch) {
        if (big("epoch", epoch) !== BigInt(this.epoch))
            this.begin(epoch);
    }

    reshape(shape) {
        notes.get(this).note(() => super.reshape(shape), (h, s) => {
            const { worldSize, batchSize } = describeState(
                Sampler.prototype.save.call(this));
            return c.reshape(h, s, 0, worldSize, batchSize);
        });
    }

    resize(numSamples) {
        notes.get(this).note(
            () => super.resize(numSamples),
            (h, s) => c.resize(h, s, BigInt(numSamples)));
    }
}

export class RecordedMix extends recorded(
    Mix, (mix) => new Notes(mix, placeOf(mix).numSources, c.mix_init)) {
    seek(turn) {
        notes.get(this).note(
            () => super.seek(turn),
            (h, s) => c.mix_seek(h, s, BigInt(turn)));
    }

    weigh(weights) {
        const list = Array.from(weights);
        notes.get(this).note(
            () => super.weigh(list), c.mix_weigh,
            list.map((one) => one === "off" ? 2 ** 32 - 1 : Number(one)));
    }

    reshape(shape) {
        notes.get(this).note(
            () => super.reshape(shape),
            (h, s) => c.mix_reshape(h, s, 0, placeOf(this).worldSize));
    }
}

/* --- history -------------------------------------------------------------- */

/* The words of `next`, by name; places are an epoch and a step. */
const stretchOf = ([epoch, step, endEpoch, end, worldSize]) =>
    ({ begin: [epoch, step], end: [endEpoch, end], worldSize });

/* Whether C has found a sample: what is out of range has not been served. */
function found(code) {
    if (code < 0 && new StatesamplerError(code).kind !== "ERANGE")
        check(code);
    return code >= 0;
}

/* The words of a place by name, numbers as `thing` gives them. */
const placeIn = (thing, words) => Object.fromEntries(Array.from(
    words, (word, i) => [["step", "rank", "slot", "position", "turn"][i],
                         give(thing, word)]));

/* As history_earlier. */
const earlier = (epoch, other) =>
    unsigned(other - epoch) < unsigned(epoch - other);

const outside = (name, value, n) =>
    new RangeError(`${name} must be below ${n}, not ${value}`);

/* The record of a run up to the moment at which it was saved. */
export class History extends Tagged {
    #bytes;
    #used; /* where the state begins; 0: it has no history */
    #sources;
    #epoch; /* of the state, as is the step */
    #step;
    #carry;
    #samples; /* of a sampler, now; of a mix 0 */
    #bigint;
    #since;

    constructor(saved, options = {}) {
        super();
        this.#bigint = known(options, { bigint: false }).bigint;
        this.#bytes = bytesIn(saved);
        const size = this.#bytes.length;
        within([size], (at) => {
            put(at, this.#bytes);
            this.#used = check(c.find(at, size));
            let carry, begin;
            [this.#sources, this.#epoch, this.#step, carry, begin,
             this.#samples] = told(6);
            this.#bytes = this.#bytes.subarray(Number(begin));
            this.#carry = carry === 1n;
        });
        this.#since = [this.#epoch, this.#step];
        if (this.#used > 0) {
            this.#walk((r) => check(c.check_end(r)));
            this.#walk((r) => {
                check(c.next(r));
                this.#since = told(2);
            });
        }
    }

    get bigint() {
        return this.#bigint;
    }

    /* The state alone, for a Sampler or Mix that keeps no history. */
    get state() {
        return this.#bytes.slice(this.#used);
    }

    /* The first place that it knows. */
    get since() {
        const [epoch, step] = this.#since;
        return { epoch: give(this, epoch), step: give(this, step) };
    }

    #walk(use) {
        const n = Number(this.#sources), size = this.#bytes.length;
        within([READING, size, n * SOURCE, 4 * n, size], (r, at, ...memory) => {
            put(at, this.#bytes);
            c.open(r, at, size, this.#used, n, this.#epoch, this.#step,
                   this.#carry, ...memory);
            use(r);
        });
    }

    /* Calls with each stretch that was served between two events, until a call
       returns true. */
    #stretches(use) {
        if (this.#used > 0)
            this.#walk((r) => {
                while (check(c.next(r)) === 1 && !use(r, stretchOf(told(5))));
            });
    }

    #name(epoch, step) {
        return `${this.#samples > 0n ? "step" : "turn"} ${step} of epoch ` +
               epoch;
    }

    /* Whether a place is before another one. */
    #isBefore(epoch, step, [other, from]) {
        return this.#carry || epoch === other ? step < from
                                              : earlier(epoch, other);
    }

    /* An error if what is not found may have been served before all that it
       knows; or null. */
    #unknown(what, epoch) {
        return this.#isBefore(epoch, 0n, this.#since) ? new SteeringError(
            "EUNKNOWN", `${what}: not served since ${
                this.#name(...this.#since)}, where this history begins`) : null;
    }

    /* By the words of `skipped`. */
    #skipped([from, at, to, step]) {
        const how = from === to ? `seek to ${step}` : `begin to ${to}`;
        return `skipped at ${this.#name(from, at)} by a ${how}`;
    }

    /* What a rank had in a step. The main module computes it, with a copy of
       the struct that C has made. */
    #serving(r, rank, epoch, step, { worldSize }) {
        check(c.at(r, rank, epoch, step));
        const words = told(5), count = Number(this.#sources);
        const [most, source, , at, sources] = Array.from(words, Number);
        const head = count > 0 ? main.mix_bytes(0) : SAMPLER;
        const n = c.samples(r, source), thing = { bigint: this.#bigint };
        give(thing, n, "numSamples");
        make(thing, head + count * SOURCE, () => {
            putMain(PLACE, get(at, head));
            putMain(PLACE + head, get(sources, count * SOURCE));
            if (count > 0)
                new Uint32Array(main.memory.buffer, PLACE)[0] = PLACE + head;
            return 0;
        });
        return { epoch: give(this, words[2]), worldSize: Number(worldSize),
                 ...count > 0 && { source },
                 indices: batchOf(thing, n, most, undefined, (to) =>
                     count > 0 ? main.mix_at(to, step)
                               : main.at(to, step)) };
    }

    /* The samples of a step, as often as it was served. */
    at(step, options = {}) {
        const asked = known(options, { epoch: this.#epoch, rank: 0 });
        const at = big("step", step), epoch = big("epoch", asked.epoch);
        const rank = half("rank", asked.rank), what = this.#name(epoch, at);
        const servings = [];
        const isBefore = (place) => this.#isBefore(epoch, at, place);
        let why;
        this.#stretches((r, stretch) => {
            if (!isBefore(stretch.end) || isBefore(stretch.begin) ||
                check(c.at(r, 0, epoch, at)) === 0) /* the epoch has ended */
                return;
            if (rank >= stretch.worldSize)
                why ??= outside(`${what}: rank`, rank, stretch.worldSize);
            else
                servings.push(this.#serving(r, rank, epoch, at, stretch));
        });
        if (servings.length > 0)
            return servings;
        why ??= this.#unknown(what, epoch);
        let skipped;
        this.#stretches((r) => {
            if (c.skipped(r, epoch, at))
                skipped = this.#skipped(told(4));
            return skipped;
        });
        if (why?.kind && skipped)
            why.message += "; " + skipped;
        throw why ?? new SteeringError(
            skipped ? "ESKIPPED" : "EUNSERVED",
            `${what}: ${skipped ?? "the run has not served it"}`);
    }

    /* Of a mix: in each epoch of its own in which the source was. */
    #addPlaces(places, limit, r, epoch, source, index) {
        check(c.own_epochs(r, epoch, source));
        const [first, last] = told(2);
        for (let own = first; places.length < limit; own++) {
            if (found(c.mix_locate(r, epoch, source, own, index)))
                places.push(told(4));
            if (unsigned(own) === last)
                break;
        }
    }

    /* The places at which a sample was served in an epoch, up to a limit. */
    locate(index, options = {}) {
        const ofMix = this.#samples === 0n; /* perhaps without a history */
        const asked = known(options, { epoch: this.#epoch, limit: 1000,
                                       ...ofMix && { source: undefined } });
        const limit = half("limit", asked.limit);
        const number = big("index", index), epoch = big("epoch", asked.epoch);
        const source = ofMix ? half("source", asked.source) : 0;
        if (ofMix && this.#used > 0 && source >= this.#sources)
            throw outside("source", source, this.#sources);
        const places = [];
        let samples = this.#samples; /* the most that the dataset had */
        this.#stretches((r, { begin, end }) => {
            const there = c.samples(r, source);
            samples = there > samples ? there : samples;
            if (places.length >= limit ||
                !this.#carry && unsigned(epoch - begin[0]) >
                                    unsigned(end[0] - begin[0]))
                return;
            if (ofMix)
                this.#addPlaces(places, limit, r, epoch, source, number);
            else if (found(c.locate(r, epoch, number)))
                places.push(told(4));
        });
        if (samples > 0n && number >= samples)
            throw outside("index", number, samples);
        const why = this.#unknown(`sample ${number} in epoch ${epoch}`, epoch);
        if (limit > 0 && places.length === 0 && why)
            throw why;
        return places.map((place) => ({ epoch: give(this, epoch),
                                        ...placeIn(this, place) }));
    }
}

/* --- schedule ------------------------------------------------------------- */

/* A loop, as `every` takes ten times as long. */
function equal(a, b) {
    let left = a.length;
    while (left > 0 && a[left - 1] === b[left - 1])
        left--;
    return left === 0;
}

/* Weights that change as often as one likes: each source gets its share to
   within about a turn. */
export class Schedule extends Tagged {
    #mix;
    #plan;
    #count; /* of sources */
    #size;  /* of the mix's struct */
    #bytes; /* of C's struct, with what it points to */
    #begin = 0n;
    #end = 0n;
    #seen = false; /* whether C has seen the mix in this stage */
    #found = []; /* by at */

    constructor(mix, plan) {
        super();
        if (!(mix instanceof Mix))
            throw new TypeError("a schedule needs a Mix, not " + shown(mix));
        if (typeof plan !== "function")
            throw new TypeError("a plan must be a function, not " +
                                shown(plan));
        this.#mix = mix;
        this.#plan = plan;
        this.#count = placeOf(mix).numSources;
        this.#size = main.mix_bytes(this.#count) >>> 0;
        const size = SCHEDULE + SHARE * this.#count;
        within([size, this.#size], (s, copy) => {
            put(copy, structOf(mix, this.#size));
            check(c.schedule_init(s, this.#count, copy));
            this.#bytes = get(s, size);
        });
        /* By itself the mix would go on with the weights of its stage. */
        const define = (name, value) =>
            Object.defineProperty(mix, name, { configurable: true, value });
        for (const name of ["at", "locate", "next", "seek", "weigh"])
            define(name, (...given) => this[name](...given));
        for (const name of ["load", "reshape"])
            define(name, (...given) => {
                this.#own(name, ...given);
                this.#seen = false;
            });
    }

    /* A method of the mix's class. */
    #own(name, ...given) {
        return Object.getPrototypeOf(this.#mix)[name].apply(this.#mix, given);
    }

    /* What a plan says, for each source. */
    #each(what, values, of) {
        const list = listOf(what, values, of);
        if (list.length !== this.#count)
            throw new RangeError(`${list.length} ${what} for ${this.#count} ` +
                                 "sources");
        return list;
    }

    /* Asks for the stage that begins at a turn; returns its length. */
    #ask(s, turn) {
        const plan = this.#plan, stage = plan(give(this.#mix, turn));
        const { turns, shares, means } = known(
            stage, { turns: undefined, shares: undefined, means: null });
        const tokens = means && this.#each("means", means,
                                           (mean) => half("a mean", mean));
        this.#each("shares", shares, (share) => {
            if (typeof share !== "number")
                throw new TypeError("a share must be a number, not " +
                                    shown(share));
            return share;
        }).forEach((share, i) => c.set_share(s, i, share, tokens?.[i] ?? 0));
        return half("turns", turns);
    }

    /* What JavaScript does while C runs. An error of it must not end C's call:
       it waits in `failed`. A plan that fails is an impossible stage for C. */
    #hostOf(failed, at) {
        const mix = this.#mix, count = this.#count;
        const tried = (act) => (given, more) => {
            try {
                return act(given, more);
            } catch (error) {
                failed.push(error);
                return 0;
            }
        };
        return {
            of: this, at,
            plan: tried((place, turn) => this.#ask(place, turn)),
            weigh: tried((at) => this.#own("weigh",
                new Uint32Array(c.memory.buffer, at, count).slice())),
            seek: tried((turn) => this.#own("seek", turn)),
            begin: tried((at) => {
                const act = () => become(mix, get(at, this.#size));
                if (notes.has(mix))
                    notes.get(mix).note(act, (h, s) => c.mix_begin(h, s, at));
                else
                    act();
            }),
        };
    }

    /* The struct of the schedule, and that of the mix. */
    #present() {
        return [this.#bytes, structOf(this.#mix, this.#size)];
    }

    /* Calls C with copies of the schedule and the mix. keeps: whether what it
       has made of the schedule is kept; null: if all went well. */
    #steer(call, keeps, [bytes, struct] = this.#present()) {
        const outer = host, failed = [];
        within([bytes.length, struct.length], (s, copy) => {
            put(s, bytes);
            put(copy, struct);
            host = this.#hostOf(failed, s);
            let code;
            try {
                code = call(s, copy);
            } finally {
                host = outer;
            }
            if (keeps ?? (code >= 0 && failed.length === 0))
                this.#keep(s);
            this.#seen = code >= 0;
            if (failed.length > 0)
                throw failed[0];
            check(code);
        });
    }

    /* Keeps what C has made of the schedule. */
    #keep(s) {
        [this.#begin, this.#end] = told(2, s + STAGE);
        this.#bytes = get(s, this.#bytes.length);
    }

    /* Where a stage ends, begins the next one; `next` does it by itself. */
    follow() {
        const { turn } = this.#mix;
        if (!this.#seen || turn < this.#begin || turn >= this.#end)
            this.#steer(c.schedule_follow, null);
    }

    /* The mix's next turn. */
    next(into) {
        this.follow();
        return this.#own("next", into);
    }

    /* The mix goes to the turn's stage, and back to its place. The copies with
       which a turn was found lead to later ones, too, if all is as it was: but
       those of earlier stages only to such, as ranks may have changed since. */
    at(turn, into) {
        const to = big("turn", turn, 45n), mix = this.#mix;
        const present = this.#present(), [bytes, struct] = present;
        /* Those of this stage are no other turn's: NaN equals nothing. */
        const side = to < this.#begin ? 1 : to < this.#end ? NaN : 2;
        const now = [side, bytes], [was, before, copies, begin] = this.#found;
        const leads = to >= begin && equal(now, was) && equal(struct, before);
        try {
            this.#steer((s, copy) => {
                const code = c.schedule_at(s, copy, to);
                if (code >= 0) {
                    const copies = [get(s, bytes.length),
                                    get(copy, this.#size)];
                    const [begin] = told(1, s + STAGE);
                    this.#found = [now, struct, copies, begin];
                    become(mix, copies[1]);
                }
                return code;
            }, false, leads ? copies : present);
            return this.#own("at", to, into);
        } finally {
            become(mix, struct);
        }
    }

    *[Symbol.iterator]() {
        for (let turn; (turn = this.next()) !== null;)
            yield turn;
    }

    /* The mix's. */
    weigh() {
        throw new TypeError("the weights are those of the schedule");
    }

    /* To any turn. (C may have moved both though it returns an error.) */
    seek(turn) {
        const to = big("turn", turn, 45n);
        this.#steer((s, copy) => c.schedule_seek(s, copy, to), true);
    }

    /* As the mix's, but in this stage or in any of the next 10,000. */
    locate(source, index) {
        const number = half("source", source), what = big("index", index);
        this.#steer((s, copy) => c.schedule_locate(s, copy, number, what),
                    false);
        return placeIn(this.#mix, told(5));
    }

    /* As #steer, with a copy of the schedule alone, and a place. */
    #alone(size, use) {
        within([this.#bytes.length, size], (s, at) => {
            put(s, this.#bytes);
            check(use(s, at));
            this.#keep(s);
        });
    }

    /* How many tokens the batch of a turn had, on all ranks together. The copy
       that asks a plan gets to know it, too. */
    had(source, tokens) {
        const number = half("source", source);
        const many = big("tokens", tokens, 31n);
        const tell = (s) => c.schedule_had(s, number, many);
        this.#alone(0, tell);
        if (host?.of === this)
            tell(host.at);
    }

    save() {
        let state;
        this.#alone(SCHEDULE + 8 * this.#count, (s, out) => {
            const size = c.schedule_save(s, out);
            state = get(out, size);
            return size;
        });
        return state;
    }

    /* With a mix that is loaded, too. */
    load(state) {
        const saved = bytesIn(state);
        this.#alone(saved.length, (s, at) => {
            put(at, saved);
            return c.schedule_load(s, at, saved.length);
        });
    }
}
