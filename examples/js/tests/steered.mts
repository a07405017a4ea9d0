/* steered.mts - the same for steering.d.mts. */
import { Sampler } from "../../../build/web/statesampler.mjs";
import { History, RecordedMix, RecordedSampler, Schedule, SteeringError } from
    "../../../build/web/steering.mjs";

const run = new RecordedSampler({ numSamples: 9, rank: 1, worldSize: 2n });
const wide = new RecordedSampler({ numSamples: 2n ** 60n, bigint: true });
const plain: Sampler = run;
plain.seek(1);
run.load(run.save());
const read = new History(wide.save(), { bigint: true });
const first: bigint = read.at(0n, { epoch: 0, rank: 0n })[0].indices[0];
let sum = run.history.at(0)[0].indices[0] + run.history.since.step;
for (const { step, rank } of new History(run.save()).locate(
    7, { epoch: 0n, limit: 9 }))
    sum += step + rank;
const state: Uint8Array = run.history.state;
const mix = new RecordedMix([{ numSamples: 9 }, { numSamples: 8 }],
                            { stop: "never" });
mix.weigh([1, "off"]);
sum += mix.history.locate(1, { source: 1 })[0].slot;
const schedule = new Schedule(mix, (turn) =>
    ({ turns: 10n, shares: [0.5, turn / 100],
       means: turn > 9 ? null : [1, 2n] }));
schedule.follow();
for (const { source, indices } of schedule) {
    schedule.had(source, indices.length);
    break;
}
schedule.seek(99n);
sum += schedule.at(5)!.indices[0] +
    schedule.at(5n, new Uint32Array(9))!.indices[0];
sum += schedule.locate(1, 5n).turn;
schedule.load(schedule.save());
const kind: "ESKIPPED" | null =
    new SteeringError("EOTHER", "").kind === "ESKIPPED" ? "ESKIPPED" : null;

class Own extends RecordedSampler<bigint> {}
const own: bigint = new Own({ numSamples: 9, bigint: true }).history.since.step;
// @ts-expect-error
new Schedule(mix, () => ({ turns: 1 }));
// @ts-expect-error
new Schedule(run, () => ({ turns: 1, shares: [1] }));
// @ts-expect-error
run.history.at(0, { ranks: 1 });
// @ts-expect-error
new History();

export { first, sum, state, kind, own };
