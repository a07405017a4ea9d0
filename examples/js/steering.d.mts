/* Declarations of steering.mjs. */
import { Bytes, Dataset, Indices, Mix, Place, Plain, IndexArray, Rank, Sampler,
         Shape, Source, Stop, Turn, Whole } from "./statesampler.mjs";

/** Its kind is that of history.h or schedule.h, without the header's name, or
    ESKIPPED   the run has skipped the step
    EUNSERVED  the run has not served it
    EUNKNOWN   not served since the history begins */
export class SteeringError extends Error {
    constructor(kind: SteeringError["kind"], message: string);
    readonly kind: "ESKIPPED" | "EUNSERVED" | "EUNKNOWN" | "EOTHER" | "EORDER" |
        "ESHARES" | "ETURNS" | "EMEANS" | "ESTOP" | "ETURN" |
        "ETOKENS" | "EOWED" | "ELATER" | "ESTEPS" | "EHAD" | "EWEIGHTS" |
        "EEVENT" | "EEPOCH";
}

/** A sampler that notes each seek, begin, shape, length and load. `at` and
    `locate` say what it serves as it is now; `history` what it has served. */
export interface RecordedSampler<T extends number | bigint = number>
    extends Sampler<T> {
    /** A copy. */
    readonly history: History<T>;
    /** The history, and the state behind it: a file for examples/indices.c. */
    save(): Bytes;
    /** What that saved, also in C; or a state, with which a history begins. */
    load(state: Uint8Array): void;
}

export const RecordedSampler: {
    new <T extends bigint>(desc: Dataset & Shape & { bigint: true }):
        RecordedSampler<T>;
    new (desc: Dataset & Shape & { bigint?: false }): RecordedSampler;
    new <T extends number | bigint>(
        desc: Dataset & Shape & { bigint?: boolean }): RecordedSampler<T>;
};

/** A mix that does so. */
export interface RecordedMix<T extends number | bigint = number>
    extends Mix<T> {
    readonly history: History<T>;
    save(): Bytes;
    load(state: Uint8Array): void;
}

export const RecordedMix: {
    new <T extends bigint>(
        sources: Iterable<Source>,
        options: Rank & { stop?: Stop; bigint: true }): RecordedMix<T>;
    new (sources: Iterable<Source>,
         options?: Rank & { stop?: Stop; bigint?: false }): RecordedMix;
    new <T extends number | bigint>(
        sources: Iterable<Source>,
        options: Rank & { stop?: Stop; bigint?: boolean }): RecordedMix<T>;
};

/** A step as it was served. */
export interface Served<T extends number | bigint = number> {
    /** In which the step begins. */
    epoch: T;
    /** Of that time. */
    worldSize: number;
    /** Of a mix. */
    source?: number;
    indices: Indices<T>;
}

/** The record of a run. Of a mix, steps are turns. */
export interface History<T extends number | bigint = number> {
    readonly bigint: boolean;
    /** The state alone, for a Sampler, a Mix or a Mixture. */
    readonly state: Bytes;
    /** The first step that it knows. */
    readonly since: { epoch: T; step: T };
    /** The samples of a step, as often as it was served: by default of rank
        0, in this epoch. */
    at(step: Whole, options?: { epoch?: Whole; rank?: Whole }): Served<T>[];
    /** Where an epoch has served a sample, at most `limit` (by default 1,000)
        places; if its own was skipped, as padding, from position numSamples on.
        A mix needs a source; the epoch is its. EUNKNOWN: not found, and not all
        of the epoch is known. */
    locate(index: Whole, options?: { epoch?: Whole; source?: Whole;
                                     limit?: Whole }): {
        epoch: T; step: T; rank: T; slot: T; position: T }[];
}

export const History: {
    /** saved: what a recorded sampler or mix has saved, also in C or Python. Of
        a state alone nothing is known before it. */
    new <T extends bigint>(saved: Uint8Array, options: { bigint: true }):
        History<T>;
    new (saved: Uint8Array, options?: { bigint?: false }): History;
    new <T extends number | bigint>(
        saved: Uint8Array, options: { bigint?: boolean }): History<T>;
};

/** A stage of a schedule. */
export interface Stage {
    /** Its length. */
    turns: Whole;
    /** Of each source, 0 for none. */
    shares: Iterable<number>;
    /** For shares of tokens: about how many a turn of each source has. */
    means?: Iterable<Whole> | null;
}

/** Weights that change often: each source has its share. */
export interface Schedule<T extends number | bigint = number>
    extends Iterable<Turn<Indices<T>>> {
    /** The next turn; follows first. */
    next(): Turn<Indices<T>> | null;
    next<A extends IndexArray>(into: A): Turn<Plain<A>> | null;
    /** Where a stage ends, begins the next one. */
    follow(): void;
    /** To any turn below 2^45; to earlier stages as if straight from turn 0, if
        the run began there. It goes up to an impossible stage. */
    seek(turn: Whole): void;
    /** What a turn serves, in the same way. */
    at(turn: Whole): Turn<Indices<T>> | null;
    at<A extends IndexArray>(turn: Whole, into: A): Turn<Plain<A>> | null;
    /** As the mix's, in this stage or one of the next 10,000. */
    locate(source: Whole, index: Whole): Place<T> & { turn: T };
    /** After each turn: its tokens on all ranks. */
    had(source: Whole, tokens: Whole): void;
    /** Save it with the mix. */
    save(): Bytes;
    load(state: Uint8Array): void;
}

export const Schedule: {
    /** The first stage begins at the mix's turn; its stop rule is "never". Its
        at, locate, next and seek become the schedule's, and it cannot be
        weighed. plan: the stage that begins at a turn; for at and seek, of the
        turn alone. */
    new <T extends number | bigint>(mix: Mix<T>, plan: (turn: T) => Stage):
        Schedule<T>;
};
