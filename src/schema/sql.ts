/** SQL of the `0x…` text of bytes. */
export const hexOf = (bytes: string) => `('0x' || encode(${bytes}, 'hex'))`;
