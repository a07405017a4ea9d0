/* random.mjs - the numbers that the tests draw: the same in every run.
   Marsaglia's xorshift64 (2003). */
/* Where the generator is. */
export let x = 88172645463325252n;

/* Other numbers for each seed, which is above 0. */
export function begin(seed) {
    x = 88172645463325252n ^ (seed << 1n);
}

/* A whole number below bound. */
export function random(bound) {
    x ^= x << 13n & 0xffffffffffffffffn;
    x ^= x >> 7n;
    x ^= x << 17n & 0xffffffffffffffffn;
    return Number((x >> 11n) % BigInt(bound));
}
