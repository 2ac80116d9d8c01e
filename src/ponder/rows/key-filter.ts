const firstCapacity = 1 << 16;
// Ten bits and four probes for each key: one in a hundred absent keys looks present.
const bitsPerKey = 10;
const probes = 4;

type Layer = { words: Uint32Array; capacity: number; size: number };

/** A set of keys that can tell that a key was never added. */
export type KeyFilter = ReturnType<typeof createKeyFilter>;

/** A Bloom filter of 1.25 to 2.5 bytes per key. When its last layer is full, it adds one of twice the size. */
export function createKeyFilter() {
  const layers: Layer[] = [];

  function layerWithRoom(): Layer {
    const last = layers.at(-1);
    if (last !== undefined && last.size < last.capacity) return last;
    const capacity = last === undefined ? firstCapacity : last.capacity * 2;
    const layer = { words: new Uint32Array((capacity * bitsPerKey) >>> 5), capacity, size: 0 };
    layers.push(layer);
    return layer;
  }

  return {
    add(key: string): void {
      const layer = layerWithRoom();
      layer.size++;
      const { words } = layer;
      const [hash, step] = computeHashes(key);
      for (let probe = 0; probe < probes; probe++) {
        const bit = computeBit(hash, step, probe, words.length);
        words[bit >>> 5] = (words[bit >>> 5] ?? 0) | (1 << (bit & 31));
      }
    },

    /** False if the key was never added; true if it was, and for about one in fifty others. */
    mayHave(key: string): boolean {
      const hashes = computeHashes(key);
      return layers.some(({ words }) => isIn(words, hashes));
    },
  };
}

function isIn(words: Uint32Array, [hash, step]: readonly [number, number]): boolean {
  for (let probe = 0; probe < probes; probe++) {
    const bit = computeBit(hash, step, probe, words.length);
    if (((words[bit >>> 5] ?? 0) & (1 << (bit & 31))) === 0) return false;
  }
  return true;
}

const computeBit = (hash: number, step: number, probe: number, words: number): number =>
  ((hash + Math.imul(step, probe)) >>> 0) % (words << 5);

// Two hashes in one pass: FNV-1a, and a multiplicative one that is made odd so that no two probes coincide.
function computeHashes(key: string): readonly [number, number] {
  let first = 0x811c9dc5;
  let second = 0x9e3779b9;
  for (let index = 0; index < key.length; index++) {
    const code = key.charCodeAt(index);
    first = Math.imul(first ^ code, 0x01000193);
    second = Math.imul(second + code, 0x85ebca6b) ^ (second >>> 15);
  }
  return [first >>> 0, (second | 1) >>> 0];
}
