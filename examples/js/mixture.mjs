/* mixture.mjs - a mix of datasets with names, some of which may be new or gone
   when a state is loaded: statesampler_mixture, with the same states

       import { Mixture } from "./mixture.mjs";

       const datasets = new Map([["wiki", { numSamples: 1000, weight: 2 }],
                                 ["code", { numSamples: 500 }]]);
       const mixture = new Mixture(datasets, { stop: "never" });
       const { source, indices } = mixture.next(); // of mixture.names[source]
       const state = mixture.save(); // also for other datasets: see load

   The declarations are in mixture.d.mts. */
import { Mix, StatesamplerError, describeMix, describeState } from
    "./statesampler.mjs";

const unsigned = (value) => BigInt.asUintN(64, value);

/* "SSMN", format 2, algorithm 1: the first word of a state, after which come
   the number of datasets, the hashes of their names, the mix and a check. */
const MIXTURE = 0x000100024e4d5353n;

/* The rules of statesampler.h that are checked here. */
const EINVAL_NAME_EMPTY = -130, EINVAL_NAME_TAKEN = -131;
const ECORRUPT_SIZE = -301, ECORRUPT_MAGIC = -302, ECORRUPT_CHECK = -303;
const ECORRUPT_NAMES = -314;
const EVERSION_FORMAT = -401, EVERSION_ALGORITHM = -402;
const EMISMATCH_STOP = -510, EMISMATCH_DATASET = -511;

/* What makes a dataset another one. */
const FIELDS = ["numSamples", "seed", "stream", "order", "chunkSize", "window",
                "partition", "tail"];

/* In the first word of a source in a state: it has ended an epoch. */
const ENDED = 1n << 32n;

/* Where a source's 15 words begin in those of a mix; its sampler has the last
   14. */
const sourceAt = (source) => 5 + 15 * source;

/* The check word of these words; 0 if the last of them is the check word. */
const checkOf = (all) => all.reduce((sum, one) => {
    const h = unsigned((sum ^ one) * 0x9e3779b97f4a7c15n);
    return h ^ h >> 32n;
}, 0n);

function close(all) {
    all[all.length - 1] = checkOf(all.subarray(0, -1));
}

/* statesampler_hash of a name and its final 0. */
function hashOf(name) {
    let hash = 0n;
    for (const byte of new TextEncoder().encode(name + "\0")) {
        hash = unsigned(hash + BigInt(byte) + 0x9e3779b97f4a7c15n);
        hash = unsigned((hash ^ hash >> 30n) * 0xbf58476d1ce4e5b9n);
        hash = unsigned((hash ^ hash >> 27n) * 0x94d049bb133111ebn);
        hash ^= hash >> 31n;
    }
    return hash;
}

const bytesOf = (all) => new Uint8Array(all.slice().buffer);

function wordsOf(state) {
    const all = new BigUint64Array(Math.ceil(state.length / 8));
    new Uint8Array(all.buffer).set(state);
    return all;
}

/* Throws the error of a rule if it is broken. */
function refuse(broken, rule) {
    if (broken)
        throw new StatesamplerError(rule);
}

/* The hashes and the words of the mix in a state. */
function opened(state) {
    if (!(state instanceof Uint8Array))
        throw new TypeError("a state must be a Uint8Array");
    refuse(state.length < 8, ECORRUPT_SIZE);
    const all = wordsOf(state), format = all[0] >> 32n & 0xffffn;
    const count = Number(all[1]);
    const other = BigInt.asUintN(32, all[0] ^ MIXTURE) !== 0n;
    refuse(other || format === 0n, ECORRUPT_MAGIC);
    refuse(format !== 2n, EVERSION_FORMAT);
    refuse(state.length !== 72 + 128 * count, ECORRUPT_SIZE);
    refuse(checkOf(all) !== 0n, ECORRUPT_CHECK);
    refuse(all[0] !== MIXTURE, EVERSION_ALGORITHM);
    return { hashes: all.subarray(2, 2 + count),
             old: all.subarray(2 + count, -1) };
}

const samplerIn = (all, source) => describeState(bytesOf(
    all.subarray(sourceAt(source) + 1, sourceAt(source) + 15)));

function restartIn(options) {
    const { restart = false, ...other } = Object(options);
    if (typeof options !== "object" || !options ||
        Object.keys(other).length > 0 || typeof restart !== "boolean")
        throw new TypeError("the options of load are { restart: true or " +
                            "false }");
    return restart;
}

/* Makes the sampler in a source's words begin an epoch, in its own shape. */
function begin(words, epoch) {
    const blocks = words[7] >> 8n & 1n ? words[8] & 0xffffffffn : 1n;
    words[0] &= ~ENDED;
    words[7] = words[7] & 0xffffffffn | blocks << 32n;
    words.set([epoch, 0n, epoch, 0n, 0n], 9);
}

export class Mixture extends Mix {
    #names;
    #numbers = new Map(); /* by the hashes of the names */
    #changes = [];

    constructor(datasets, options) {
        if (typeof datasets?.[Symbol.iterator] !== "function")
            throw new TypeError("datasets must be pairs of a name and a " +
                                "source, such as a Map");
        const list = [...datasets];
        super(list.map(([, source]) => source), options);
        this.#names = list.map(([name]) => name);
        this.#names.forEach((name, source) => {
            if (typeof name !== "string")
                throw new TypeError("a dataset's name must be a string");
            const hash = hashOf(name);
            refuse(name === "", EINVAL_NAME_EMPTY);
            refuse(this.#numbers.has(hash), EINVAL_NAME_TAKEN);
            this.#numbers.set(hash, source);
        });
    }

    get names() {
        return [...this.#names];
    }

    get changes() {
        return this.#changes;
    }

    save() {
        const all = BigUint64Array.of(
            MIXTURE, BigInt(this.#names.length), ...this.#numbers.keys(),
            ...wordsOf(super.save()), 0n);
        close(all);
        return bytesOf(all);
    }

    load(state, options = {}) {
        const restart = restartIn(options);
        this.#changes = [];
        const { hashes, old } = opened(state), mine = wordsOf(super.save());
        const changes = this.#compare(hashes, old, mine);
        this.#changes = changes;
        const is = (status) => changes.some((one) => one.status === status);
        refuse(old[1] >> 32n !== mine[1] >> 32n, EMISMATCH_STOP);
        refuse(is("changed") && !restart, EMISMATCH_DATASET);
        if (changes.every(({ status, source, was }) =>
            status === "matched" && source === was))
            return super.load(bytesOf(old));
        /* All begin their epoch; then those that are in the state go on. */
        for (const { status, source, was } of changes) {
            if (status === "removed")
                continue;
            const at = sourceAt(source), from = sourceAt(was ?? 0);
            const words = mine.subarray(at, at + 15);
            const then = old.subarray(from, from + 15);
            begin(words, (status === "new" ? words : then)[9]);
            if (status === "matched") {
                words[0] |= then[0] & ENDED;
                words.set(then.subarray(1), 1);
            }
            close(words.subarray(1));
        }
        mine.set([old[2], old[3], 0n], 2); /* its epoch, its turn */
        close(mine);
        super.load(bytesOf(mine));
    }

    #compare(hashes, old, mine) {
        const changes = this.#names.map((name, source) =>
            ({ name, source, was: null, status: "new" }));
        describeMix(bytesOf(old), 0); /* refuses what is no mix's state */
        hashes.forEach((hash, was) => {
            const then = samplerIn(old, was), source = this.#numbers.get(hash);
            if (source === undefined) {
                changes.push({ name: null, source: null, was,
                               status: "removed" });
                return;
            }
            refuse(changes[source].status !== "new", ECORRUPT_NAMES);
            const now = samplerIn(mine, source);
            const same = FIELDS.every((field) => now[field] === then[field]);
            changes[source] = { ...changes[source], was,
                                status: same ? "matched" : "changed" };
        });
        return changes;
    }
}
