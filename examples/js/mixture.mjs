/* mixture.mjs - a mix of datasets with names, some of which may be new or gone
   when a state is loaded: statesampler_mixture, with the same states

       import { Mixture } from "./mixture.mjs";

       const datasets = new Map([["wiki", { numSamples: 1000, weight: 2 }],
                                 ["code", { numSamples: 500 }]]);
       const mixture = new Mixture(datasets, { stop: "never" });
       const { source, indices } = mixture.next(); // of mixture.names[source]
       const state = mixture.save(); // also for other datasets: see load

   The declarations are in mixture.d.mts. */
import { Mix, StatesamplerError, internals } from "./statesampler.mjs";

const { c, enter, bring, fetched, check } = internals;

/* The rules of statesampler.h that are checked here: the map is here. */
const EINVAL_NAME_EMPTY = -130, EINVAL_NAME_TAKEN = -131;

/* STATESAMPLER_CHANGE_... */
const STATUSES = ["matched", "new", "removed", "changed"];

/* In place of a number: the mix does not have the dataset. */
const NOBODY = 2 ** 32 - 1;

/* Throws the error of a rule if it is broken. */
function refuse(broken, rule) {
    if (broken)
        throw new StatesamplerError(rule);
}

function restartIn(options) {
    const { restart = false, ...other } = Object(options);
    if (typeof options !== "object" || !options ||
        Object.keys(other).length > 0 || typeof restart !== "boolean")
        throw new TypeError("the options of load are { restart: true or " +
                            "false }");
    return restart;
}

/* The names' hashes in the state that is in C's memory. */
const hashesIn = (count) =>
    new BigInt64Array(c.memory.buffer, c.mixture_hashes() >>> 0, count);

export class Mixture extends Mix {
    #names;
    #numbers = new Map(); /* by the hashes of the names, as C has them */
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
            const text = new TextEncoder().encode(name + "\0");
            const hash = c.hash(bring(this, text));
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
        enter(this);
        const size = c.mixture_bytes() >>> 0;
        enter(this, size / 8);
        hashesIn(this.#names.length).set([...this.#numbers.keys()]);
        c.mixture_save();
        return fetched(size);
    }

    load(state, options = {}) {
        const restart = restartIn(options);
        this.#changes = [];
        const size = bring(this, state), count = check(c.mixture_read(size));
        /* Behind the state are the numbers here of its datasets, and then the
           statuses of those here. */
        enter(this, size / 8 + count + this.#names.length);
        const at = c.mixture_numbers(size) >>> 0;
        const numbers = new Uint32Array(c.memory.buffer, at,
                                        count + this.#names.length);
        const changes = this.#names.map((name, source) =>
            ({ name, source, was: null, status: "" }));
        hashesIn(count).forEach((hash, was) => {
            const source = this.#numbers.get(hash);
            numbers[was] = source ?? NOBODY;
            if (source === undefined)
                changes.push({ name: null, source: null, was,
                               status: "removed" });
            else
                changes[source].was = was;
        });
        const code = c.mixture_load(at, restart);
        this.#names.forEach((_, source) => {
            changes[source].status = STATUSES[numbers[count + source]];
        });
        /* After a mismatch the changes say which dataset it was. */
        if (code === 0 || new StatesamplerError(code).kind === "EMISMATCH")
            this.#changes = changes;
        check(code);
    }
}
