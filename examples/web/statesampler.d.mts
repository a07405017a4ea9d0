/* What statesampler.mjs has. The manual at the head of statesampler.h says what
   things mean; its names stand here in camelCase. */

export type Order = "shuffle" | "sequential" | "window" | "replacement";
export type Partition = "interleaved" | "blocked";
export type Tail = "pad" | "drop" | "uneven" | "carry";
export type Stop = "first" | "all" | "restart" | "never";

export const ORDERS: readonly Order[];
export const PARTITIONS: readonly Partition[];
export const TAILS: readonly Tail[];
export const STOPS: readonly Stop[];

/** Whether indices are computed with vectors here. */
export const simd: boolean;

/** A whole number that goes in: above 2^53 a bigint. */
export type Whole = number | bigint;

/** An array for indices. */
export type IndexArray = Uint32Array | Float64Array | BigUint64Array;

/** What indices come in: with `bigint: true` a BigUint64Array; otherwise a
    Uint32Array up to 2^32 samples and a Float64Array above. */
export type Indices<T> = T extends bigint
    ? BigUint64Array : Uint32Array | Float64Array;

/** The class of an array's part: never one of your own. */
export type Plain<A> = A extends Uint32Array ? Uint32Array
    : A extends Float64Array ? Float64Array : BigUint64Array;

/* A class with `bigint: true` is of bigint, with a boolean that is known only
   when it runs of either. What has a type parameter has it so that each can be
   extended: `extends Sampler`, `extends Sampler<bigint>`. */

/** What must be the same on every rank, and in the run that goes on. */
export interface Dataset {
    numSamples: Whole;
    seed?: Whole;
    epoch?: Whole;
    stream?: Whole;
    order?: Order;
    /** Of the order "window". */
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
    /** Infinity with the tail "carry", and so the next two. */
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

/** What the header has an error for; `message` is its sentence. */
export class StatesamplerError extends Error {
    constructor(code: number);
    /** STATESAMPLER_EINVAL and so on, as a number. */
    readonly code: number;
}

/** What a permutation is of. */
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
    /** The indices at first, first + stride, ...: so many, or as many as an
        array holds. */
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

/** One rank's batches. `for (const batch of sampler)` takes those that are left
    of the epoch. An array to write to has room for what the step has: batchSize
    always is enough. What is returned is that array or, of a longer one, the
    part that was written, as a plain array also of a class of your own. One
    that is too short is a RangeError, one that is detached a TypeError, and
    nothing has moved. */
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
    /** null once at the end of an epoch: the next one has then begun. */
    next(): Indices<T> | null;
    next<A extends IndexArray>(into: A): Plain<A> | null;
    /** Moves only; false at the end of an epoch. */
    skip(): boolean;
    /** The batch of any step of this epoch, without moving. */
    at(step: Whole): Indices<T> | null;
    at<A extends IndexArray>(step: Whole, into: A): Plain<A> | null;
    seek(step: Whole): void;
    begin(epoch: Whole): void;
    setEpoch(epoch: Whole): void;
    /** How many samples of a batch are repeats: the last ones. */
    padding(step: Whole): number;
    locate(index: Whole): Place<T>;
    /** 64 mixed bits for what is random about a sample. */
    sampleSeed(epoch: Whole, index: Whole): bigint;
    /** batchSize stays as it is, if it is left out. */
    reshape(shape: Required<Rank> & Pick<Shape, "batchSize">): void;
    resize(numSamples: Whole): void;
    /** 112 bytes. */
    save(): Uint8Array;
    load(state: Uint8Array): void;
}

export const Sampler: {
    new <T extends bigint>(desc: Dataset & Shape & { bigint: true }):
        Sampler<T>;
    new (desc: Dataset & Shape & { bigint?: false }): Sampler;
    new <T extends number | bigint>(
        desc: Dataset & Shape & { bigint?: boolean }): Sampler<T>;
};

/** What a state holds, and of which run it is. */
export function describeState(state: Uint8Array): {
    numSamples: bigint; seed: bigint; epoch: bigint; stream: bigint;
    chunkSize: bigint; window: bigint; position: bigint; step: bigint;
    worldSize: number; batchSize: number;
    order: Order; partition: Partition; tail: Tail;
};

export interface Source extends Dataset {
    /** "off": it takes no turns. */
    weight?: Whole | "off";
}

export interface Turn<A> {
    source: number;
    indices: A;
}

/** Datasets that take turns. An array to write to is as a sampler's: the
    largest batchSize always is enough. */
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
    /** From this turn on with these weights, one for each source. */
    weigh(weights: Iterable<Whole | "off">): void;
    reshape(shape: Required<Rank>): void;
    /** How many samples the sources before this one have. */
    offset(source: Whole): T;
    /** Where the sampler of a source is. */
    progress(source: Whole): {
        epoch: T; step: T; numSteps: T | number; position: T };
    locate(source: Whole, index: Whole): Place<T> & { turn: T };
    /** 56 bytes and 88 for each source. */
    save(): Uint8Array;
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

/** Proof in 32 bytes that each sample was served exactly once. */
export class Audit {
    constructor();
    readonly count: number;
    add(indices: IndexArray): void;
    merge(other: Audit): void;
    check(numSamples: Whole): boolean;
    save(): Uint8Array;
    load(state: Uint8Array): void;
}
