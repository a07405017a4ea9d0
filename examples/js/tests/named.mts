/* named.mts - the same for mixture.d.mts. */
import { Mixture } from "../../../build/web/mixture.mjs";

const mixture = new Mixture(new Map([["a", { numSamples: 9, weight: 2 }]]),
                            { stop: "never" });
const wide = new Mixture([["a", { numSamples: 2n ** 60n }]], { bigint: true });
const turn: bigint = wide.turn, index: number | undefined =
    mixture.next()?.indices[0];
mixture.load(mixture.save(), { restart: true });
const added: string[] = mixture.changes
    .filter(({ status }) => status === "new").map(({ source }) =>
        mixture.names[source ?? 0]);
// @ts-expect-error
new Mixture([{ numSamples: 9 }]);
// @ts-expect-error
mixture.load(mixture.save(), { restart: 1 });

export { turn, index, added };
