/** Characters of a text that an index holds: longer values exceed an entry. */
export const prefixLength = 256;

/** SQL of these characters. */
export const prefixOfText = (text: string) => `left(${text}, ${prefixLength})`;

/** Characters of an id (`0x` and four bytes) that break ties in an index, in a sixth of the space of the id. */
export const shortIdLength = 10;

/** SQL of these characters. */
export const shortIdOf = (id: string) => `left(${id}, ${shortIdLength})`;

/** SQL of the `0x…` text of bytes. */
export const hexOf = (bytes: string) => `('0x' || encode(${bytes}, 'hex'))`;

/** SQL conditions that a row lacks a label, by its table: that of the partial index from which healing reads. */
export const lacksLabel = {
  domain: "(name LIKE '%[%' OR label_name IS NULL OR unrevealed_name IS NOT NULL)",
  registration: "(label_name IS NULL OR label_name LIKE '[%')",
};

/**
 * SQL of the key under which an ENSv2 registry keeps an entry, of its labelhash or one of its resource ids: without the
 * last 32 bits.
 */
export const storageIdSql = (id: string) => `left(${id}, 58) || '00000000'`;
