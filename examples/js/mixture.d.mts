/* Declarations of mixture.mjs. */
import { Bytes, Mix, Rank, Source, Stop } from "./statesampler.mjs";

/** What the last load found of a dataset. */
export interface Change {
    /** null if it is removed: the state has a hash of its name only. */
    name: string | null;
    /** Its number here; null if it is removed. */
    source: number | null;
    /** Its number in the state; null if it is new. */
    was: number | null;
    /** matched: it goes on where it was. new: not in the state; it begins its
        epoch. removed: in the state only. changed: the name is the same, but
        not the length, seed, stream, order, chunkSize, window, partition or
        tail. */
    status: "matched" | "new" | "removed" | "changed";
}

/** A mix of datasets with names. A state of one with others of them, or in
    another order, can be loaded: turns go on counting, and the sequence begins
    again with this mixture's weights. */
export interface Mixture<T extends number | bigint = number> extends Mix<T> {
    readonly names: string[];
    /** Every dataset here, then those that are removed; also after an error of
        the kind EMISMATCH, else empty. */
    readonly changes: Change[];
    /** 72 bytes and 128 for each dataset, the same as C's. */
    save(): Bytes;
    /** If a dataset has changed, this is an error or, with `restart: true`, it
        goes to the start of the epoch that it was in. */
    load(state: Uint8Array, options?: { restart?: boolean }): void;
}

export const Mixture: {
    /** datasets: pairs of a name and a source, such as a Map. */
    new <T extends bigint>(
        datasets: Iterable<readonly [string, Source]>,
        options: Rank & { stop?: Stop; bigint: true }): Mixture<T>;
    new (datasets: Iterable<readonly [string, Source]>,
         options?: Rank & { stop?: Stop; bigint?: false }): Mixture;
};
