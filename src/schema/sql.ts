/** Characters of an id (`0x` and four bytes) that break ties in an index, in a sixth of the space of the id. */
export const shortIdLength = 10;

/** SQL of these characters. */
export const shortIdOf = (id: string) => `left(${id}, ${shortIdLength})`;

/** SQL of the `0x…` text of bytes. */
export const hexOf = (bytes: string) => `('0x' || encode(${bytes}, 'hex'))`;
