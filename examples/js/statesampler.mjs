/* statesampler.mjs - statesampler.h for JavaScript: node, pages and workers

       import { Sampler } from "./statesampler.mjs";

       const sampler = new Sampler({ numSamples: 1000, batchSize: 8 });
       for (const batch of sampler) // one epoch
           train(batch);
       const state = sampler.save(); // 112 bytes, also in mid-epoch

   The manual at the head of statesampler.h explains the terms;
   statesampler.d.mts lists the interface. Fields have the header's names in
   camelCase; orders, partitions, tails and stop rules are words.

   Indices are numbers, in a Uint32Array if they fit (numSamples at most 2^32),
   else in a Float64Array. Each array is new and yours to keep; to avoid
   allocation, pass one to write to. With `bigint: true` indices are in a
   BigUint64Array, and all other 64-bit numbers are bigints too. Arguments can
   always be numbers or bigints.

   It loads one of two .wasm files by a top-level await. What bundlers need for
   that is in package.md, at statesampler/files; the npm package's module needs
   nothing.

   Errors change nothing. They are a StatesamplerError with the header's code,
   the name of its kind and the message, a ledger's LedgerError with a kind, or
   a TypeError or RangeError for arguments that do not reach the header. */

/* The header's. */
export const version = "@VERSION@";

if (typeof WebAssembly !== "object")
    throw new Error("statesampler needs WebAssembly, which this engine lacks " +
                    "or has turned off (--jitless, Lockdown Mode)");

/* --- WebAssembly ---------------------------------------------------------- */

const decode = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

/* A module with a SIMD instruction, to test for support. */
const PROBE = "AGFzbQEAAAABBQFgAAF7AwIBAAoKAQgAQQD9D/1iCw==";

/* Whether SIMD is in use. */
export const simd = WebAssembly.validate(decode(PROBE));

/* build.sh puts both modules here for the page, in base64. Otherwise they are
   files beside this one. */
const inlined = {};

/* Bundlers need the file names as literals, and must not find an import of
   node's fs when they bundle for pages. What webpack bundles for a node before
   20.16 must import it, too. */
async function read() {
    if (inlined[simd])
        return decode(inlined[simd]);
    const url = simd ? new URL("./statesampler-simd.wasm", import.meta.url)
        : new URL("./statesampler.wasm", import.meta.url);
    const { process } = globalThis, node = process?.release?.name;
    if (url.protocol === "file:" && node === "node")
        return (process.getBuiltinModule?.("fs") ??
                await import(/* webpackIgnore: true */ node + ":fs"))
            .readFileSync(url);
    const answer = await fetch(url);
    if (!answer.ok)
        throw new Error(`${url}: ${answer.status} ${answer.statusText}`);
    return answer.arrayBuffer();
}

const { instance } = await WebAssembly.instantiate(await read());
const c = instance.exports;

/* --- memory --------------------------------------------------------------- */

const BYTES = Symbol("bytes");
const [wordsAt, object, SAMPLER, PERM, AUDIT, STATE] =
    new Uint32Array(c.memory.buffer, c.start(), 6);
let roomBytes = 0, roomIndices = 0;
let out = 0;       /* the address of the indices */
let inside = null; /* the object whose bytes are in the object's place */
/* Views of the memory, renewed when it grows: all of it, and what C tells, in
   64 bits or 32. */
let bytes, words, halves;

/* Makes room for an object and indices. Both only grow. */
function reserve(size, indices) {
    if (size > roomBytes || indices > roomIndices) {
        size = Math.max(size, roomBytes);
        indices = Math.max(indices, roomIndices);
        const at = indices < 2 ** 32 ? c.reserve(size, indices) >>> 0 : 0;
        if (at === 0)
            throw new RangeError(`${indices} indices at a time do not fit in ` +
                                 "the memory of WebAssembly");
        out = at;
        roomBytes = size;
        roomIndices = indices;
        bytes = new Uint8Array(c.memory.buffer);
        words = new BigInt64Array(c.memory.buffer, wordsAt, 16);
        halves = new Uint32Array(c.memory.buffer, wordsAt, 32);
    }
}

/* Copies the bytes of the current object back to it. */
function leave() {
    inside?.[BYTES].set(bytes.subarray(object, object + inside[BYTES].length));
    inside = null;
}

/* Copies an object to its place, with room for indices behind it. Each class
   has its own #enter, which throws if a method is called on an object of
   another class, and returns the functions of C. */
function enter(thing, indices = 0) {
    reserve(thing[BYTES].length, indices);
    if (inside !== thing) {
        leave();
        bytes.set(thing[BYTES], object);
        inside = thing;
    }
}

/* Makes a new object in the place with a function that returns a code. */
function make(thing, size, init) {
    reserve(size, 0);
    leave();
    bytes.fill(0, object, object + size);
    check(init());
    thing[BYTES] = new Uint8Array(size);
    inside = thing;
}

const MOST_SHOWN = 40; /* characters of a value in an error message */

const shorten = (text) => text.length <= MOST_SHOWN ? text
    : `${text.slice(0, MOST_SHOWN)}... (${text.length} characters)`;

/* The kind of an object, which it may have a long name for; asking a Proxy for
   it may throw. */
function kindOf(value) {
    try {
        return shorten(({}).toString.call(value));
    } catch {
        return "an object";
    }
}

/* An argument in an error message: "100" in quotes, [object Array] by kind, and
   never all of a long one. The digits of a huge bigint would take long. */
function shown(value) {
    if (Object(value) === value)
        return kindOf(value);
    if (typeof value === "string")
        return value.length > MOST_SHOWN ? shorten(value) : `"${value}"`;
    if (typeof value === "bigint" && BigInt.asIntN(128, value) !== value)
        return "a bigint of more than 128 bits";
    return shorten(String(value));
}

/* The built-in properties of typed arrays, which subclasses may override. */
const TYPED = Object.getOwnPropertyDescriptors(
    Object.getPrototypeOf(Uint8Array.prototype));

/* A built-in array on the memory of a given one, which may come from another
   frame of the page or from a subclass with its own length or subarray.
   Anything else is an error, and so is a detached array. */
function viewOf(what, array, kinds) {
    const real = ({ get }) => get.call(array);
    const name = real(TYPED[Symbol.toStringTag]);
    const kind = kinds.find((one) => one.name === name);
    if (!kind)
        throw new TypeError(`${what} must be a ` +
                            kinds.map((one) => one.name).join(" or a ") +
                            `, not ${shown(array)}`);
    return new kind(real(TYPED.buffer), real(TYPED.byteOffset),
                    real(TYPED.length));
}

const stateIn = (array) => viewOf("a state", array, [Uint8Array]);

/* Copies bytes to the place of the indices, and returns how many. */
function bring(thing, from) {
    const view = stateIn(from);
    enter(thing, Math.ceil(view.length / 8));
    bytes.set(view, out);
    return view.length;
}

const fetched = (size) => bytes.slice(out, out + size);

/* --- errors --------------------------------------------------------------- */

/* The header's STATESAMPLER_EINVAL and so on, from -100 to -500; it returns the
   others for files and launchers only. */
export const KINDS = Object.freeze(["EINVAL", "ERANGE", "ECORRUPT", "EVERSION",
                                    "EMISMATCH"]);

export class StatesamplerError extends Error {
    constructor(code) {
        const all = new Uint8Array(c.memory.buffer), at = c.error(code);
        super(String.fromCharCode(...all.subarray(at, all.indexOf(0, at))));
        this.name = "StatesamplerError";
        this.code = code;
        this.kind = KINDS[Math.trunc(code / -100) - 1];
    }
}

/* Returns a code, or throws if it is an error. */
function check(code) {
    if (code < 0)
        throw new StatesamplerError(code);
    return code;
}

/* --- numbers: arguments and results --------------------------------------- */

/* A whole number of up to `bits` bits, as a bigint. most: what the header
   takes, if that is less; it refuses the rest. */
function big(name, value, bits = 64n, most = `2^${bits} - 1`) {
    const whole = typeof value === "bigint" || Number.isSafeInteger(value);
    const number = whole ? BigInt(value) : -1n;
    if (number < 0n || number >> bits) {
        const how = bits > 53n ? " (a bigint from 2^53 on)" : "";
        throw new RangeError(`${name} must be a whole number from 0 to ` +
                             `${most}${how}, not ${shown(value)}`);
    }
    return number;
}

/* A whole number of up to 32 bits, or as many as are exact, as a number. */
const half = (name, value, bits = 32n) => Number(big(name, value, bits));

/* A whole number below n, as a bigint. */
function below(name, value, n) {
    const number = big(name, value);
    if (number >= n)
        throw new RangeError(`${name} must be below ${n}, not ${number}`);
    return number;
}

function word(name, value, list) {
    const at = list.indexOf(value);
    if (at < 0)
        throw new TypeError(`${name} must be one of ${list.join(", ")}, not ` +
                            shown(value));
    return at;
}

/* The number that these 64 bits are: those from C are signed. */
const unsigned = (value) => BigInt.asUintN(64, value);

/* A result: a bigint with `bigint`, else a number below 2^53. */
function give(thing, value, name) {
    value = unsigned(value);
    if (thing.bigint)
        return value;
    if (value > Number.MAX_SAFE_INTEGER)
        throw new RangeError(`${name ?? value} is above 2^53 - 1: use ` +
                             "bigint: true");
    return Number(value);
}

/* The same for a count, which is Infinity if the header says NONE (-1). */
const giveCount = (thing, value) =>
    value === -1n ? Infinity : give(thing, value);

/* A sampler's place in its mix: none. */
const ALONE = -1;

/* The first of the words, by name. A field of a description may be any number,
   also -1. */
const answers = (thing, ...names) =>
    Object.fromEntries(names.map((name, i) =>
        [name, (name in FIELDS ? give : giveCount)(thing, words[i])]));

/* --- arrays of indices ---------------------------------------------------- */

const ARRAYS = [Uint32Array, Float64Array, BigUint64Array];

const indicesIn = (array) => viewOf("an array of indices", array, ARRAYS);

/* The kind of array for indices below n, and a view of `into` unless it is
   undefined. */
function roomOf(n, bigint, into) {
    const view = into === undefined ? into : indicesIn(into);
    const kind = view?.constructor ??
        ARRAYS[bigint ? 2 : n > 2n ** 32n ? 1 : 0];
    if (kind === Uint32Array && n > 2n ** 32n ||
        kind === Float64Array && n > 2n ** 53n)
        throw new RangeError(`indices of ${n} samples do not fit in a ` +
                             kind.name);
    return [kind, view];
}

/* The first indices in their place, as an array of a kind. */
function indicesOf(kind, count) {
    if (kind === Uint32Array)
        c.give_uint32(count);
    else if (kind === Float64Array)
        c.give_float64(count);
    return new kind(c.memory.buffer, out, count);
}

const CHUNK = 8192; /* indices that can always be allocated: 64 KiB */

/* A batch, or null at the end. If there may be no room for `most` indices,
   serve(0) first tells their number without moving, so that a batch without
   room changes nothing. */
function batchOf(thing, n, most, into, serve) {
    const [kind, view] = roomOf(n, thing.bigint, into);
    let count = most;
    if (most > Math.min(CHUNK, view?.length ?? CHUNK)) {
        enter(thing);
        check(serve(0));
        count = halves[0];
        if (view?.length < count)
            throw new RangeError(`an array of length ${view.length} is too ` +
                                 `short for ${count} indices`);
    }
    enter(thing, count);
    if (!check(serve(out)))
        return null;
    count = halves[0];
    const found = indicesOf(kind, count);
    if (!view)
        return found.slice();
    view.set(found);
    return count === view.length ? into : view.subarray(0, count);
}

/* --- descriptions --------------------------------------------------------- */

/* The position of a word is its number in the header. */
export const ORDERS = Object.freeze(["shuffle", "sequential", "window",
                                     "replacement"]);
export const PARTITIONS = Object.freeze(["interleaved", "blocked"]);
export const TAILS = Object.freeze(["pad", "drop", "uneven", "carry"]);
export const STOPS = Object.freeze(["first", "all", "restart", "never"]);

/* Reads each field that has a default here, once. Unknown names are errors,
   also those of getters of a class. */
function known(fields, defaults) {
    if (typeof fields !== "object" || !fields)
        throw new TypeError("a description must be an object with fields, " +
                            "not " + shown(fields));
    const names = Object.keys(defaults);
    for (let one = fields; one && !Object.hasOwn(one, "isPrototypeOf");
         one = Object.getPrototypeOf(one))
        for (const name of Object.getOwnPropertyNames(one))
            if (name !== "constructor")
                word("a field", name, names);
    const read = { bigint: false };
    for (const name of names)
        ({ [name]: read[name] = defaults[name] } = fields);
    word("bigint", read.bigint, [false, true]);
    return read;
}

const COUNTS = ["positions", "padded", "dropped", "steps", "rankSamples",
                "rankBatches"];

/* undefined: the field is required. */
const SHAPE = { rank: 0, worldSize: 1 };
const RESHAPE = { rank: undefined, worldSize: undefined };
const FIELDS = { numSamples: undefined, seed: 0, epoch: 0, stream: 0,
                 chunkSize: 0, window: 0, batchSize: 1, order: "shuffle",
                 partition: "interleaved", tail: "pad", dropLast: false };

function numSamplesOf(numSamples, bigint) {
    const n = big("numSamples", numSamples, 64n, "2^62");
    give({ bigint }, n, "numSamples"); /* indices must fit into numbers */
    return n;
}

const shapeOf = ({ rank, worldSize }) =>
    [half("rank", rank), half("worldSize", worldSize)];

/* The arguments of C's functions for a description (FIELDS in module.c). */
const describe = (desc, shape) => [
    numSamplesOf(desc.numSamples, shape.bigint),
    ...["seed", "epoch", "stream", "chunkSize", "window"].map(
        (name) => big(name, desc[name])),
    ...shapeOf(shape), half("batchSize", desc.batchSize),
    word("order", desc.order, ORDERS),
    word("partition", desc.partition, PARTITIONS),
    word("tail", desc.tail, TAILS),
    word("dropLast", desc.dropLast, [false, true])];

/* Vue's `reactive` leaves objects with a tag of their own alone. It would wrap
   others in a Proxy, which has no access to private members. */
class Tagged {
    get [Symbol.toStringTag]() {
        return "statesampler";
    }
}

/* What can be gone through, as an array of what is made of each. */
function listOf(name, values, of) {
    if (typeof values?.[Symbol.iterator] !== "function")
        throw new TypeError(`${name} must be an array or another iterable, ` +
                            "not " + shown(values));
    return Array.from(values, of);
}

/* For mixture.mjs and steering.mjs; no part of the interface. */
export const internals = { c, enter, make, bring, fetched, batchOf, check, big,
                           half, give, known, listOf, shown, Tagged };

/* --- perm ----------------------------------------------------------------- */

export class Perm extends Tagged {
    #n;
    #bigint;

    constructor(numSamples, options = {}) {
        super();
        const { seed, epoch, stream, bigint } = known(
            options, { seed: 0, epoch: 0, stream: 0, bigint: false });
        const n = numSamplesOf(numSamples, bigint);
        make(this, PERM, () => c.perm_init(
            object, n, big("seed", seed), big("epoch", epoch),
            big("stream", stream)));
        this.#bigint = bigint;
        this.#n = n;
    }

    #enter() {
        enter(this);
        return c;
    }

    get bigint() {
        return this.#bigint;
    }

    get numSamples() {
        return give(this, this.#n);
    }

    at(position) {
        const number = below("position", position, this.#n);
        return give(this, this.#enter().perm_at(object, number));
    }

    inverse(index) {
        const number = below("index", index, this.#n);
        return give(this, this.#enter().perm_inverse(object, number));
    }

    /* The indices at first, first + stride, ...: `count` may be an array. */
    fill(first, count, stride = 1) {
        const into = typeof count === "object" ? count : undefined;
        const n = this.#n, by = big("stride", stride);
        const [kind, view] = roomOf(n, this.bigint, into);
        const total = view?.length ?? half("count", count);
        const start = big("first", first);
        if (total > 0)
            below("the last position", start + by * BigInt(total - 1), n);
        const all = view ?? new kind(total);
        enter(this, Math.min(total, CHUNK));
        for (let done = 0; done < total; done += CHUNK) {
            const some = Math.min(total - done, CHUNK);
            c.perm_fill(object, start + by * BigInt(done), by, out, some);
            all.set(indicesOf(kind, some), done);
        }
        return into ?? all;
    }
}

/* --- bag ------------------------------------------------------------------ */

/* Of an item: BAG_EHAND and the next ones. */
const BAG_EHAND = -1504;
const BAG_SAYS = ["is in a hand", "is not in the bag",
                  "did not come from this bag, or is in a hand",
                  "is in no hand"];

/* The item that C has told, if there is one. */
const itemIf = (there) => there ? halves[0] : null;

/* The exports of bag.c, from the first bag on. It has the memory and the
   permutations here. */
let bags;

/* Draws each item once before any comes again: the bag of
   examples/extras/bag.h. */
export class Bag extends Tagged {
    constructor(items, options = {}) {
        super();
        const { seed } = known(options, { seed: 0 });
        bags ??= new WebAssembly.Instance(bagModule(), { env: c }).exports;
        const list = listOf("items", items, (item) => half("an item", item));
        this.#begin(list, list.length, half("seed", seed));
    }

    /* Anew or from a state, with the first `count` of the items, and room for
       all. Behind C's struct of ten numbers are the items, then the order. */
    #begin(items, count, seed, held = 0, state) {
        const room = items.length, order = 40 + 4 * (room + room % 2);
        if (room >= 2 ** 24)
            throw new RangeError("a bag holds fewer than 2^24 items");
        make(this, order + 8 * room, () => {
            const numbers = new Uint32Array(c.memory.buffer, object, 10 + room);
            numbers.set([object + 40, object + order, room, count, seed, 0, 0,
                         0, 0, held]);
            numbers.set(items, 10);
            bytes.set(state?.subarray(0, 16) ?? [], wordsAt);
            if (state && state.length !== 16 ||
                bags.begin(object, state && wordsAt) < 0)
                throw new RangeError("this state was not saved with these " +
                                     "items, or is damaged");
        });
    }

    /* The struct, and the items. */
    #numbers() {
        enter(this);
        return new Uint32Array(c.memory.buffer, object,
                               this[BYTES].length / 4);
    }

    /* null if there are no items, or all are in hands. */
    draw() {
        enter(this);
        return itemIf(bags.draw(object, wordsAt));
    }

    /* Back (-1) or forward (1); null where there is no such item. */
    walk(steps) {
        const by = typeof steps === "bigint" ? Number(steps) : steps;
        if (!Number.isInteger(by))
            throw new RangeError("steps must be a whole number, not " +
                                 shown(steps));
        enter(this);
        return itemIf(Math.abs(by) <= 255 &&
                      bags.walk(object, by, wordsAt));
    }

    /* Calls a function that changes something, with an item. */
    #change(change, item) {
        const number = half("an item", item);
        enter(this);
        const code = change(object, number);
        if (code < 0)
            throw new RangeError(`${number} ${BAG_SAYS[BAG_EHAND - code]}`);
    }

    /* In place of a draw. */
    take(item) {
        this.#change(bags.take, item);
    }

    /* What came goes into a hand. */
    hold(item) {
        this.#change(bags.hold, item);
    }

    /* From a hand to what came. */
    discard(item) {
        this.#change(bags.discard, item);
    }

    add(item) {
        const number = half("an item", item), { items } = this;
        this.#begin([...items, number], items.length, 0, this.held,
                    this.save());
        this.#change(bags.add, number);
    }

    remove(item) {
        this.#change(bags.remove, item);
    }

    get left() {
        const numbers = this.#numbers();
        return numbers[3] - numbers[7];
    }

    get held() {
        return this.#numbers()[9];
    }

    get items() {
        const numbers = this.#numbers();
        return numbers.slice(10, 10 + numbers[3]);
    }

    save() {
        enter(this, 2);
        bags.save(object, out);
        return fetched(16);
    }

    /* With the items and `held` of then. */
    load(state, held = 0) {
        const view = stateIn(state), { items } = this;
        this.#begin(items, items.length, 0, half("held", held), view);
    }
}

/* --- ledger --------------------------------------------------------------- */

export class LedgerError extends Error {
    constructor(kind, message) {
        super(message);
        this.name = "LedgerError";
        this.kind = kind;
    }
}

/* LEDGER_EDONE and the next ones; a load also has the header's errors. */
const LEDGER_EDONE = -1001;
const LEDGER_KINDS = ["EDONE", "EISSUED", "EAHEAD"];

/* The error of a code, with what is made of its message in C. */
function ledgerError(code, sentenceOf) {
    const { kind = LEDGER_KINDS[LEDGER_EDONE - code], message } =
        new StatesamplerError(code);
    return new LedgerError(kind, sentenceOf(message, kind));
}

/* Tickets that are issued in order and taken back in any order, each done
   exactly once through kills: the ledger of examples/extras/ledger.h. */
export class Ledger extends Tagged {
    #window;
    #end;

    constructor(options) {
        super();
        const { window, end } = known(options, { window: undefined,
                                                 end: Infinity });
        this.#window = half("window", window);
        this.#end = end === Infinity ? end : half("end", end, 53n);
        const last = Math.min(this.#end, Number.MAX_SAFE_INTEGER);
        make(this, c.ledger_bytes(this.#window), () => {
            if (c.ledger_init(this.#window, last) < 0)
                throw new RangeError("window must be 64, 128, ..., not " +
                                     this.#window);
        });
    }

    #enter() {
        enter(this);
        return c;
    }

    get window() {
        return this.#window;
    }

    get end() {
        return this.#end;
    }

    /* All tickets before it are done. */
    get frontier() {
        return this.#enter().ledger_frontier();
    }

    /* The next ticket; after a load the holes come first. null if there is none
       now: wait for one to be done. */
    issue() {
        const ticket = this.#enter().ledger_issue();
        return ticket < 0 ? null : ticket;
    }

    /* Takes a ticket back, in any order. */
    done(ticket) {
        const number = half("ticket", ticket, 53n);
        const code = this.#enter().ledger_done(number);
        if (code < 0)
            throw ledgerError(code, (message) =>
                message.replace("this ticket", `ticket ${number}`));
    }

    save() {
        enter(this, 3 + this.#window / 64);
        return fetched(c.ledger_save());
    }

    load(state) {
        const code = this.#enter().ledger_load(bring(this, state));
        if (code < 0)
            throw ledgerError(code, (message, kind) =>
                kind !== "EMISMATCH" ? message : "the state has ticket " +
                    `${unsigned(words[0])}, but end is ${this.#end}`);
    }
}

/* --- sampler -------------------------------------------------------------- */

export class Sampler extends Tagged {
    #n;
    #batchSize;
    #bigint;

    constructor(desc) {
        super();
        const fields = known(desc, { ...FIELDS, ...SHAPE, bigint: false });
        const numbers = describe(fields, fields);
        make(this, SAMPLER, () => c.init(ALONE, 0, ...numbers));
        this.#bigint = fields.bigint;
        this.#n = numbers[0];
        this.#batchSize = numbers[8] || 1;
    }

    #enter() {
        enter(this);
        return c;
    }

    get bigint() {
        return this.#bigint;
    }

    /* The next batch; null once at the end of an epoch. */
    next(into) {
        return batchOf(this, this.#n, this.#batchSize, into, (to) => {
            if (to)
                return c.next(to);
            c.progress(ALONE);
            return c.at(0, words[1]);
        });
    }

    /* Moves as next does, without computing; false at the end. */
    skip() {
        return this.#enter().next(0) === 1;
    }

    /* The batch of any step of this epoch; null past its end. */
    at(step, into) {
        const number = big("step", step);
        return batchOf(this, this.#n, this.#batchSize, into,
                       (to) => c.at(to, number));
    }

    /* Yields the remaining batches of this epoch. */
    *[Symbol.iterator]() {
        for (let batch; (batch = this.next()) !== null;)
            yield batch;
    }

    seek(step) {
        check(this.#enter().seek(big("step", step)));
    }

    begin(epoch) {
        this.#enter().begin(big("epoch", epoch));
    }

    setEpoch(epoch) {
        this.#enter().set_epoch(big("epoch", epoch));
    }

    #progress() {
        this.#enter().progress(ALONE);
        return words;
    }

    get epoch() {
        return give(this, this.#progress()[0]);
    }

    get step() {
        return give(this, this.#progress()[1]);
    }

    /* Infinity with the tail carry. */
    get numSteps() {
        return giveCount(this, this.#progress()[2]);
    }

    get position() {
        return give(this, this.#progress()[3]);
    }

    get numSamples() {
        return give(this, this.#n);
    }

    get counts() {
        this.#enter().get_counts(ALONE);
        return answers(this, ...COUNTS);
    }

    padding(step) {
        return this.#enter().padding(ALONE, big("step", step)) >>> 0;
    }

    locate(index) {
        check(this.#enter().locate(big("index", index)));
        return answers(this, "position", "step", "rank", "slot");
    }

    /* Always a bigint. */
    sampleSeed(epoch, index) {
        return unsigned(this.#enter().sample_seed(
            ALONE, big("epoch", epoch), big("index", index)));
    }

    reshape(shape) {
        const fields =
            known(shape, { ...RESHAPE, batchSize: this.#batchSize });
        const size = half("batchSize", fields.batchSize);
        check(this.#enter().reshape(...shapeOf(fields), size));
        this.#batchSize = size || 1;
    }

    resize(numSamples) {
        const n = numSamplesOf(numSamples, this.bigint);
        check(this.#enter().resize(n));
        this.#n = n;
    }

    save() {
        enter(this, STATE / 8);
        check(this.#enter().save());
        return fetched(STATE);
    }

    load(state) {
        check(this.#enter().load(bring(this, state)));
    }
}

/* The description that C has told. All 64-bit numbers are bigints. */
function told() {
    const [, worldSize, batchSize, order, partition, tail] =
        halves.subarray(8);
    const found = answers({ bigint: true }, "numSamples", "seed", "epoch",
                          "stream");
    return { ...found, chunkSize: unsigned(words[8]),
             window: unsigned(words[9]), worldSize, batchSize,
             order: ORDERS[order], partition: PARTITIONS[partition],
             tail: TAILS[tail] };
}

/* The contents of a state. */
export function describeState(state) {
    check(c.describe(bring(new Audit(), state)));
    return { ...told(), position: unsigned(words[10]),
             step: unsigned(words[11]) };
}

/* --- mix ------------------------------------------------------------------ */

/* The largest weight means that the source takes no turns. */
const OFF = 2 ** 32 - 1;
const weightOf = (weight) => half("weight", weight === "off" ? OFF : weight);

export class Mix extends Tagged {
    #n;
    #most;
    #count;
    #bigint;

    /* sources: descriptions without rank and worldSize, each with a weight. */
    constructor(sources, options = {}) {
        super();
        const shape = known(options,
                            { stop: "first", ...SHAPE, bigint: false });
        const rule = word("stop", shape.stop, STOPS);
        const list = listOf("sources", sources, (source) => {
            const fields = known(source, { ...FIELDS, weight: 1 });
            return [weightOf(fields.weight), ...describe(fields, shape)];
        });
        const size = c.mix_bytes(list.length) >>> 0;
        if (size === 0)
            throw new RangeError("a mix can have at most 2^20 sources");
        make(this, size, () => {
            list.forEach((numbers, i) => check(c.init(i, ...numbers)));
            return c.mix_init(list.length, rule);
        });
        this.#bigint = shape.bigint;
        this.#count = list.length;
        this.#n = list.reduce((most, [, n]) => n > most ? n : most, 0n);
        this.#most = list.reduce(
            (most, numbers) => Math.max(most, numbers[9]), 1);
    }

    #enter() {
        enter(this);
        return c;
    }

    get bigint() {
        return this.#bigint;
    }

    #turn(into, serve) {
        const indices = batchOf(this, this.#n, this.#most, into, serve);
        return indices && { source: halves[1], indices };
    }

    /* The next turn: { source, indices }; null once at the end of an epoch. */
    next(into) {
        return this.#turn(into, (to) => {
            if (to)
                return c.mix_next(to);
            /* mix_at would be slow, so move, and undo it by entering again. */
            leave();
            const more = c.mix_next(0);
            enter(this);
            return more;
        });
    }

    at(turn, into) {
        const number = big("turn", turn);
        return this.#turn(into, (to) => c.mix_at(to, number));
    }

    *[Symbol.iterator]() {
        for (let turn; (turn = this.next()) !== null;)
            yield turn;
    }

    seek(turn) {
        check(this.#enter().mix_seek(big("turn", turn)));
    }

    /* Sets the weights from this turn on, one per source. */
    weigh(weights) {
        const list = Uint32Array.from(weights, weightOf);
        if (list.length !== this.#count)
            throw new RangeError(`${list.length} weights for ${this.#count} ` +
                                 "sources");
        bring(this, new Uint8Array(list.buffer));
        check(this.#enter().mix_weigh());
    }

    reshape(shape) {
        const fields = known(shape, RESHAPE);
        check(this.#enter().mix_reshape(...shapeOf(fields)));
    }

    get turn() {
        return give(this, this.#enter().mix_turn());
    }

    /* Infinity if it never ends. */
    get numTurns() {
        return giveCount(this, this.#enter().mix_num_turns());
    }

    get epoch() {
        return give(this, this.#enter().mix_epoch());
    }

    /* The number of samples in all earlier sources. */
    offset(source) {
        const number = Number(below("source", source, this.#count + 1));
        return give(this, this.#enter().mix_offset(number));
    }

    #source(source) {
        return Number(below("source", source, this.#count));
    }

    /* The place of a source's sampler. */
    progress(source) {
        this.#enter().progress(this.#source(source));
        return answers(this, "epoch", "step", "numSteps", "position");
    }

    counts(source) {
        this.#enter().get_counts(this.#source(source));
        return answers(this, ...COUNTS);
    }

    /* Of a source's step, as `progress` counts them. */
    padding(source, step) {
        return this.#enter().padding(this.#source(source),
                                     big("step", step)) >>> 0;
    }

    /* Always a bigint. */
    sampleSeed(source, epoch, index) {
        return unsigned(this.#enter().sample_seed(
            this.#source(source), big("epoch", epoch), big("index", index)));
    }

    locate(source, index) {
        check(this.#enter().mix_locate(
            half("source", source), big("index", index)));
        return answers(this, "position", "step", "rank", "slot", "turn");
    }

    save() {
        const size = this.#enter().mix_state_bytes() >>> 0;
        enter(this, Math.ceil(size / 8));
        check(c.mix_save());
        return fetched(size);
    }

    load(state) {
        check(this.#enter().mix_load(bring(this, state)));
    }
}

/* The contents of a mix's state, and of one of its sources: `new Mix` takes the
   descriptions of all. */
export function describeMix(state, source) {
    const number = half("source", source);
    check(c.mix_describe(bring(new Audit(), state), number));
    const { worldSize, ...found } = told();
    const [numSources, stop, weight] = halves.subarray(24);
    return { epoch: unsigned(words[10]), turn: unsigned(words[11]), numSources,
             stop: STOPS[stop], worldSize,
             source: { ...found, weight: weight === OFF ? "off" : weight } };
}

/* --- audit ---------------------------------------------------------------- */

/* Checks in 32 bytes that each of [0, numSamples) was served exactly once. */
export class Audit extends Tagged {
    constructor() {
        super();
        this[BYTES] = new Uint8Array(AUDIT);
    }

    #enter() {
        enter(this);
        return c;
    }

    add(indices) {
        const view = indicesIn(indices), kind = view.constructor;
        if (kind === Float64Array)
            view.forEach((index) => big("an index", index));
        for (let done = 0; done < view.length; done += CHUNK) {
            const some = view.subarray(done, done + CHUNK);
            enter(this, some.length);
            new kind(c.memory.buffer, out, some.length).set(some);
            if (kind === Uint32Array)
                c.take_uint32(some.length);
            else if (kind === Float64Array)
                c.take_float64(some.length);
            this.#enter().audit_add(some.length);
        }
    }

    merge(other) {
        if (!(other instanceof Audit))
            throw new TypeError("merge needs another Audit");
        leave();
        bring(this, other[BYTES]);
        this.#enter().audit_merge();
    }

    check(numSamples) {
        return this.#enter().audit_check(big("numSamples", numSamples)) === 1;
    }

    get count() {
        return give({}, this.#enter().audit_count());
    }

    /* 32 bytes, to load into a new Audit. */
    save() {
        this.#enter();
        return bytes.slice(object, object + AUDIT);
    }

    load(state) {
        const view = stateIn(state);
        if (view.length !== AUDIT)
            throw new TypeError(`the state of an audit has ${AUDIT} bytes, ` +
                                `not ${view.length}`);
        this.#enter();
        bytes.set(view, object);
    }
}
