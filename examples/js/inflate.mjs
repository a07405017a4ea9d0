/* inflate.mjs - what build.sh adds to inlined.mjs and steering.mjs, whose
   WebAssembly is in their own text. */
/* Unpacks deflated data (RFC 1951) in blocks with Huffman codes, their own or
   the fixed ones; gzip and advdef make no others of a file like this. */
function inflate(packed) {
    const bytes = [];
    let at = 0; /* the next bit of `packed` */
    const bits = (count) => {
        let value = 0;
        for (let i = 0; i < count; i++, at++)
            value += (packed[at >> 3] >> (at & 7) & 1) << i;
        return value;
    };
    /* A code is a list of the symbols of each length, in their order. */
    const code = (lengths) => Array.from({ length: 16 }, (_, length) =>
        lengths.flatMap((own, symbol) => own === length ? symbol : []));
    const symbol = (code) => {
        let length = 1, value = bits(1);
        while (value >= code[length].length)
            value = 2 * (value - code[length++].length) + bits(1);
        return code[length][value];
    };
    /* The first 2^(shift + 1) symbols are the number; each 2^shift after them
       have one more extra bit. */
    const number = (symbol, shift) => {
        const extra = (symbol >> shift) - 1;
        return extra < 1 ? symbol
            : (symbol - (extra << shift) << extra) + bits(extra);
    };
    for (let last = 0; !last;) {
        last = bits(1);
        const lengths = [];
        const push = (times, length) =>
            lengths.push(...Array(times).fill(length));
        let literals = 288;
        if (bits(2) > 1) {
            literals = bits(5) + 257;
            const all = literals + bits(5) + 1, first = [];
            const order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13,
                           2, 14, 1, 15].slice(0, bits(4) + 4);
            for (const one of order)
                first[one] = bits(3);
            for (const own = code(first); lengths.length < all;) {
                const one = symbol(own);
                if (one < 16)
                    push(1, one);
                else
                    push(one === 18 ? 11 + bits(7) : 3 + bits(one - 14),
                         one > 16 ? 0 : lengths.at(-1));
            }
        } else {
            push(144, 8), push(112, 9), push(24, 7), push(8, 8), push(30, 5);
        }
        const literal = code(lengths.slice(0, literals));
        const distance = code(lengths.slice(literals));
        for (let one; (one = symbol(literal)) !== 256;) {
            if (one < 256) {
                bytes.push(one);
                continue;
            }
            const length = one === 285 ? 258 : number(one - 257, 2) + 3;
            const back = number(symbol(distance), 1) + 1;
            for (let i = 0; i < length; i++)
                bytes.push(bytes.at(-back));
        }
    }
    return Uint8Array.from(bytes);
}
