/* types.mts - does statesampler.d.mts say what statesampler.mjs takes, gives?
   It is compiled, not run. The lines that must be refused are marked. */
import { Audit, Bag, Ledger, LedgerError, Mix, ORDERS, Perm, Sampler,
         StatesamplerError, describeMix, describeState, simd, version } from
    "../../../build/web/statesampler.mjs";

const sampler = new Sampler({ numSamples: 100, seed: 2n ** 60n, batchSize: 4,
                              rank: 1, worldSize: 2, tail: "uneven" });
const wide = new Sampler({ numSamples: 2n ** 60n, bigint: true });
let sum = 0, total = 0n;
for (const batch of sampler)
    sum += batch[0] + batch.length;
for (const batch of wide)
    total += batch[0];
const into: Float64Array | null = sampler.next(new Float64Array(4));
const step: number = sampler.step, far: bigint = wide.locate(5n).position;
const state: Uint8Array = sampler.save();
sampler.load(state);
sampler.reshape({ rank: 0, worldSize: 3 });
const seed: bigint = sampler.sampleSeed(0, 5);
const order: "shuffle" | "sequential" | "window" | "replacement" =
    describeState(state).order;

const mix = new Mix([{ numSamples: 10, weight: "off" }, { numSamples: 5 }],
                    { stop: "all" });
for (const { source, indices } of mix)
    sum += source + indices[0];
mix.weigh([1, "off"]);
sum += mix.padding(0, 1n) + mix.counts(1).positions;
const sample_seed: bigint = mix.sampleSeed(0n, 0, 5);
const { source, ...rest } = describeMix(mix.save(), 0);
new Mix([source, { ...source, weight: "off" }], { stop: rest.stop });
// @ts-expect-error
describeMix(mix.save());

const bag = new Bag([1, 2n, 2].keys(), { seed: 1n });
const card: number | null = bag.draw() ?? bag.walk(-1);
bag.add(7n);
bag.remove(7);
bag.take(2n);
bag.hold(2);
bag.load(bag.save(), bag.held);
bag.discard(2n);
bag.load(bag.save());
sum += bag.left + bag.held + bag.items[0] + (card ?? 0);

/* Every number that goes in may be a bigint. */
new Sampler({ numSamples: 9n, rank: 0n, worldSize: 2n, batchSize: 4n })
    .reshape({ rank: 1n, worldSize: 2n, batchSize: 3n });
const small = new Mix([{ numSamples: 9n, weight: 2n }], { worldSize: 1n });
small.weigh([3n]);
sum += small.offset(1n) + small.progress(0n).epoch +
       small.locate(0n, 5n).turn + new Perm(9n).fill(0n, 3n, 2n).length;

const perm = new Perm(1000, { seed: 1 });
const filled: Uint32Array = perm.fill(0, new Uint32Array(10));
const audit = new Audit();
audit.add(filled);
const good: boolean = audit.check(1000) && simd && ORDERS.includes(order);
const code: number = new StatesamplerError(-101).code;
const kind: "EINVAL" | "ERANGE" | "ECORRUPT" | "EVERSION" | "EMISMATCH" =
    new StatesamplerError(-101).kind;

const ledger = new Ledger({ window: 64n, end: sampler.numSteps });
for (let ticket: number | null; (ticket = ledger.issue()) !== null;)
    ledger.done(ticket);
ledger.load(ledger.save());
const late: "EDONE" | "EISSUED" | "EAHEAD" | "EMISMATCH" | "ECORRUPT" =
    new LedgerError("EDONE", "done").kind;
// @ts-expect-error
new Ledger({ end: 5 });
// @ts-expect-error
ledger.done(ledger.issue());

/* What is returned has memory of its own, which can be handed over: it is as
   good as an array that has just been made. */
let own = new Uint8Array(1), indices = new Uint32Array(1) as
    ReturnType<typeof Uint32Array.of> | ReturnType<typeof Float64Array.of>;
own = sampler.save();
own = mix.save();
own = audit.save();
indices = sampler.at(0) ?? indices;

/* What is filled is the array, what is served may be a part of it. */
class Ids extends Uint32Array {
    first = () => this[0];
}
sum += perm.fill(0, new Ids(10)).first();
const part: Uint32Array | null = sampler.next(new Ids(4));
// @ts-expect-error
sampler.next(new Ids(4))?.first();

/* Classes of one's own, and what is known only when it runs. */
class Loader extends Sampler {
    left(): number {
        return (this.numSteps as number) - this.step;
    }
}
class WideLoader extends Sampler<bigint> {
    constructor() {
        super({ numSamples: 10, bigint: true });
    }
    at_step(): bigint {
        return this.step;
    }
}
class Alternating extends Mix {}
class Shuffle extends Perm {}
const either = (bigint: boolean): (number | bigint)[] => [
    new Sampler({ numSamples: 10, bigint }).step,
    new Mix([{ numSamples: 10 }], { bigint }).turn,
    new Perm(10, { bigint }).at(0)];
sum += new Loader({ numSamples: 10 }).left();
total += new WideLoader().at_step();
sum += new Alternating([{ numSamples: 10 }]).turn + new Shuffle(10).at(3);

// @ts-expect-error
new Sampler({ num_samples: 100 });
// @ts-expect-error
new Sampler({ numSamples: 100, tail: "even" });
// @ts-expect-error
sampler.next(new Uint16Array(4));
// @ts-expect-error
const number: number = wide.step;
// @ts-expect-error
new Bag(["a song"]);
// @ts-expect-error
sampler.load("state");
// @ts-expect-error
sampler.next()[0];

export { sample_seed, late, either, into, part, step, far, seed, good, code, kind, own,
         indices, version, sum, total, number };
