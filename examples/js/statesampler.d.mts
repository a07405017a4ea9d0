/* Declarations of statesampler.mjs. The manual at the head of statesampler.h
   explains the terms; its names are in camelCase here. */

/* The plain script's global name. */
export as namespace statesampler;

export type Order = "shuffle" | "sequential" | "window" | "replacement";
export type Partition = "interleaved" | "blocked";
export type Tail = "pad" | "drop" | "uneven" | "carry";
export type Stop = "first" | "all" | "restart" | "never";

export const ORDERS: readonly Order[];
export const PARTITIONS: readonly Partition[];
export const TAILS: readonly Tail[];
export const STOPS: readonly Stop[];

/** The version of statesampler.h. */
export const version: string;

/** Whether WebAssembly SIMD is in use. */
export const simd: boolean;

/** A whole number as an argument; from 2^53 on it must be a bigint. */
export type Whole = number | bigint;

/** An array for indices. */
export type IndexArray = Uint32Array | Float64Array | BigUint64Array;

/** Bytes in memory of their own: Uint8Array<ArrayBuffer>, where TypeScript
    knows that, from 5.7 on. */
export type Bytes = ReturnType<typeof Uint8Array.of>;

/** The array that indices are returned in: with `bigint: true` a
    BigUint64Array, else a Uint32Array for up to 2^32 samples and a Float64Array
    above. */
export type Indices<T> = ReturnType<T extends bigint ? typeof BigUint64Array.of
    : typeof Uint32Array.of | typeof Float64Array.of>;

/** The built-in class of an array, also for an array of a subclass. */
export type Plain<A> = A extends Uint32Array ? Uint32Array
    : A extends Float64Array ? Float64Array : BigUint64Array;

/** Must be the same on every rank, and after a resume. */
export interface Dataset {
    numSamples: Whole;
    seed?: Whole;
    epoch?: Whole;
    stream?: Whole;
    order?: Order;
    /** For the order "window" only, as is `window`. */
    chunkSize?: Whole;
    window?: Whole;
    partition?: Partition;
    tail?: Tail;
    dropLast?: boolean;
    batchSize?: Whole;
}

export interface Rank {
    rank?: Whole;
    worldSize?: Whole;
}

export interface Shape extends Rank {
    batchSize?: Whole;
}

export interface Counts<T> {
    positions: T | number;
    padded: T | number;
    dropped: T | number;
    /** Infinity with the tail "carry"; so are the next two. */
    steps: T | number;
    rankSamples: T | number;
    rankBatches: T | number;
}

export interface Place<T> {
    position: T;
    step: T;
    rank: T;
    slot: T;
}

/** The name of a kind of errors: the header's without STATESAMPLER_. */
export type Kind = "EINVAL" | "ERANGE" | "ECORRUPT" | "EVERSION" | "EMISMATCH";
export const KINDS: readonly Kind[];

/* Vue's `reactive` leaves objects of these classes as they are, as `markRaw`
   would have it. Through any other Proxy their methods throw "Cannot read
   private member" or the like: hand over the object itself. */

/** An error of the header; `message` is from statesampler_error. */
export class StatesamplerError extends Error {
    constructor(code: number);
    /** The header's number of the error. */
    readonly code: number;
    readonly kind: Kind;
}

/** The key of a permutation. */
export interface Epoch {
    seed?: Whole;
    epoch?: Whole;
    stream?: Whole;
}

/** A keyed bijection on [0, numSamples). */
export interface Perm<T extends number | bigint = number> {
    readonly bigint: boolean;
    readonly numSamples: T;
    at(position: Whole): T;
    inverse(index: Whole): T;
    /** The indices at first, first + stride, ...: this many, or as many as fit
        into the array. */
    fill(first: Whole, count: Whole, stride?: Whole): Indices<T>;
    fill<A extends IndexArray>(first: Whole, into: A, stride?: Whole): A;
}

export const Perm: {
    new <T extends bigint>(numSamples: Whole,
                           options: Epoch & { bigint: true }): Perm<T>;
    new (numSamples: Whole, options?: Epoch & { bigint?: false }): Perm;
    new <T extends number | bigint>(numSamples: Whole,
                                    options: Epoch & { bigint?: boolean }):
        Perm<T>;
};

/** A shuffle bag, as examples/extras/bag.h has it: loot, a deck, a playlist. Items are
    whole numbers of yours below 2^32, and one may be there several times. */
export class Bag {
    constructor(items: Iterable<Whole>, options?: { seed?: Whole });
    /** How many this bag still holds. After 0, a draw begins the next bag. */
    readonly left: number;
    /** How many are in hands. */
    readonly held: number;
    /** A copy. Save it, and `held`, with the state if you ever call more than
        draw and walk. */
    readonly items: ReturnType<typeof Uint32Array.of>;
    /** A new item; null if there are no items, or all are in hands. */
    draw(): number | null;
    /** This item in place of a draw, such as a song that was clicked; the rest
        of the bag comes after it, without it. One that came already comes again
        and takes nothing from the rest. Refuses what is in a hand. */
    take(item: Whole): void;
    /** Puts an item that came from this bag in a hand. No bag has it until
        `discard`. */
    hold(item: Whole): void;
    /** Puts an item of a hand on the discard pile: it comes in the next bag. */
    discard(item: Whole): void;
    /** Goes back (-1) or forward (1) among what came from this bag and is in no
        hand, 255 steps at most; null where there is no such item. */
    walk(steps: Whole): number | null;
    /** To a random place of the rest of this bag. */
    add(item: Whole): void;
    remove(item: Whole): void;
    /** 16 bytes, the same as in C. */
    save(): Bytes;
    load(state: Uint8Array, held?: Whole): void;
}

/** An error of a ledger. Its kind:
    EDONE      the ticket is done already: drop its result
    EISSUED    it was not issued, or not since the load: drop its result
    EAHEAD     a state has done tickets beyond the window: take a larger one
    EMISMATCH  a state has tickets past the end: it is another run's
    ECORRUPT   a state is damaged */
export class LedgerError extends Error {
    constructor(kind: LedgerError["kind"], message: string);
    readonly kind: "EDONE" | "EISSUED" | "EAHEAD" | "EMISMATCH" | "ECORRUPT";
}

/** Tickets 0, 1, 2, ... that are issued in order and taken back in any order,
    each done exactly once through kills, as examples/extras/ledger.h has it. It
    takes a bit for each ticket of its window. */
export class Ledger {
    /** window: how many tickets may be issued from the oldest one on that is
        not done: 64, 128, ... below 2^32. end: the number of tickets; without
        it there is no end. */
    constructor(options: { window: Whole; end?: Whole });
    readonly window: number;
    readonly end: number;
    /** All tickets before it are done. */
    readonly frontier: number;
    /** The next ticket; after a load first those that were not done. null if
        there is none now: wait for one to be done. */
    issue(): number | null;
    /** A result counts if this takes its ticket back. */
    done(ticket: Whole): void;
    /** 24 bytes and a bit for each ticket of the window. Save it together with
        all that finished work has changed. */
    save(): Bytes;
    load(state: Uint8Array): void;
}

/** One rank's batches. `for (const batch of sampler)` yields the remaining ones
    of the epoch. If you pass an array to write to, it must have room for the
    step; batchSize is always enough. The result is that array or, if it is
    longer, the part that was written, as a built-in array even if yours is of a
    subclass. An array that is too short throws a RangeError, a detached one a
    TypeError, and the sampler does not move.

    While it is computed, a batch takes 8 bytes for each index in WebAssembly's
    memory, which grows to what the largest batch needs and never shrinks: 400
    MB stay after one of 5e7. Several batches of fewer samples do with less. */
export interface Sampler<T extends number | bigint = number>
    extends Iterable<Indices<T>> {
    readonly bigint: boolean;
    readonly numSamples: T;
    readonly epoch: T;
    readonly step: T;
    /** Infinity with the tail "carry". */
    readonly numSteps: T | number;
    readonly position: T;
    readonly counts: Counts<T>;
    /** null once at the end of an epoch; then the next epoch has begun. */
    next(): Indices<T> | null;
    next<A extends IndexArray>(into: A): Plain<A> | null;
    /** Moves as next does, without computing; false at the end of an epoch. */
    skip(): boolean;
    /** The batch of any step of this epoch, without moving; null past the
        end. */
    at(step: Whole): Indices<T> | null;
    at<A extends IndexArray>(step: Whole, into: A): Plain<A> | null;
    seek(step: Whole): void;
    begin(epoch: Whole): void;
    setEpoch(epoch: Whole): void;
    /** How many samples at the end of a batch are padding. */
    padding(step: Whole): number;
    locate(index: Whole): Place<T>;
    /** 64 bits to seed a sample's random numbers with. */
    sampleSeed(epoch: Whole, index: Whole): bigint;
    /** Without batchSize, it stays the same. */
    reshape(shape: Required<Rank> & Pick<Shape, "batchSize">): void;
    resize(numSamples: Whole): void;
    /** 112 bytes. */
    save(): Bytes;
    load(state: Uint8Array): void;
}

export const Sampler: {
    new <T extends bigint>(desc: Dataset & Shape & { bigint: true }):
        Sampler<T>;
    new (desc: Dataset & Shape & { bigint?: false }): Sampler;
    new <T extends number | bigint>(
        desc: Dataset & Shape & { bigint?: boolean }): Sampler<T>;
};

/** What a state says of a dataset. */
export interface Described {
    numSamples: bigint; seed: bigint; epoch: bigint; stream: bigint;
    chunkSize: bigint; window: bigint; batchSize: number;
    order: Order; partition: Partition; tail: Tail;
}

/** The contents of a sampler's state. */
export function describeState(state: Uint8Array): Described & {
    position: bigint; step: bigint; worldSize: number };

export interface Source extends Dataset {
    /** "off": takes no turns. */
    weight?: Whole | "off";
}

export interface Turn<A> {
    source: number;
    indices: A;
}

/** Datasets that take turns. An array to write to is used as in Sampler; the
    largest batchSize is always enough. */
export interface Mix<T extends number | bigint = number>
    extends Iterable<Turn<Indices<T>>> {
    readonly bigint: boolean;
    readonly turn: T;
    /** Infinity if it never ends. */
    readonly numTurns: T | number;
    readonly epoch: T;
    next(): Turn<Indices<T>> | null;
    next<A extends IndexArray>(into: A): Turn<Plain<A>> | null;
    at(turn: Whole): Turn<Indices<T>> | null;
    at<A extends IndexArray>(turn: Whole, into: A):
        Turn<Plain<A>> | null;
    seek(turn: Whole): void;
    /** Sets the weights from this turn on, one per source. */
    weigh(weights: Iterable<Whole | "off">): void;
    reshape(shape: Required<Rank>): void;
    /** The number of samples in all earlier sources. */
    offset(source: Whole): T;
    /** The place of a source's sampler. */
    progress(source: Whole): {
        epoch: T; step: T; numSteps: T | number; position: T };
    /** As a Sampler's, of a source; steps count as `progress` has them. So of
        the turn that `next` has just served: progress(source).step - 1, unless
        the source has begun its next epoch. */
    counts(source: Whole): Counts<T>;
    padding(source: Whole, step: Whole): number;
    sampleSeed(source: Whole, epoch: Whole, index: Whole): bigint;
    locate(source: Whole, index: Whole): Place<T> & { turn: T };
    /** 48 bytes and 120 for each source. */
    save(): Bytes;
    load(state: Uint8Array): void;
}

export const Mix: {
    new <T extends bigint>(
        sources: Iterable<Source>,
        options: Rank & { stop?: Stop; bigint: true }): Mix<T>;
    new (sources: Iterable<Source>,
         options?: Rank & { stop?: Stop; bigint?: false }): Mix;
    new <T extends number | bigint>(
        sources: Iterable<Source>,
        options: Rank & { stop?: Stop; bigint?: boolean }): Mix<T>;
};

/** The contents of a mix's state, and of one of its sources. `new Mix` takes
    the descriptions of all, and that mix can load the state. ERANGE: the source
    does not exist. */
export function describeMix(state: Uint8Array, source: Whole): {
    epoch: bigint; turn: bigint; numSources: number; stop: Stop;
    worldSize: number; source: Described & { weight: number | "off" };
};

/** For mixture.mjs and steering.mjs alone: no part of the interface. */
export const internals: unknown;

/** Checks in 32 bytes that each sample was served exactly once. Padding counts
    as repeats: use the tail "uneven", or leave out the last `padding(step)`
    samples of a batch. */
export class Audit {
    constructor();
    readonly count: number;
    add(indices: IndexArray): void;
    merge(other: Audit): void;
    check(numSamples: Whole): boolean;
    save(): Bytes;
    load(state: Uint8Array): void;
}
