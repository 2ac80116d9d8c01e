/**
 * The keccak-256 of `bytes` from `start` to `end`, in a buffer that the next call overwrites. Half the cost of
 * the portable implementations, and needs no asynchronous start: every label that is read or imported is
 * verified, so this is the label service's innermost loop.
 */
export function keccak256(bytes: Uint8Array, start = 0, end = bytes.length): Buffer {
  const length = end - start;
  const input = room(length);
  if (length < 48) {
    // Cheaper than making the view that `set` needs.
    for (let i = 0; i < length; i++) input[inputOffset + i] = bytes[start + i] ?? 0;
  } else {
    input.set(bytes.subarray(start, end), inputOffset);
  }
  return digest(length);
}

/** Like `keccak256`, of the UTF-8 bytes of `text`. */
export function keccak256OfText(text: string): Buffer {
  const input = room(text.length * 3);
  const { written } = encoder.encodeInto(text, input.subarray(inputOffset));
  return digest(written);
}

const encoder = new TextEncoder();
const rate = 136;
const digestLength = 32;
const roundConstantsOffset = 64;
const inputOffset = 256;

const { memory, digest: absorb } = instantiate(moduleBytes());
let view = new Uint8Array(memory.buffer);
let output = Buffer.from(memory.buffer, 0, digestLength);
new BigUint64Array(memory.buffer, roundConstantsOffset, 24).set(roundConstants());

type Exports = {
  memory: { buffer: ArrayBuffer; grow(pages: number): number };
  digest(blocks: number): void;
};

function instantiate(bytes: Uint8Array): Exports {
  // Node has WebAssembly, but its types come with those of the browser only.
  const { Module, Instance } = (globalThis as unknown as { WebAssembly: WebAssembly }).WebAssembly;
  return new Instance(new Module(bytes)).exports;
}

type WebAssembly = {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object) => { exports: Exports };
};

function room(length: number): Uint8Array {
  const missing = inputOffset + length + rate - view.length;
  if (missing > 0) {
    memory.grow(Math.ceil(missing / 65_536));
    view = new Uint8Array(memory.buffer);
    output = Buffer.from(memory.buffer, 0, digestLength);
  }
  return view;
}

function digest(length: number): Buffer {
  const blocks = Math.floor(length / rate) + 1;
  const end = inputOffset + blocks * rate;
  view.fill(0, inputOffset + length, end);
  view[inputOffset + length] = 1;
  view[end - 1] = (view[end - 1] ?? 0) | 0x80;
  absorb(blocks);
  return output;
}

/** The 24 constants of step iota (FIPS 202, algorithm 5), from their shift register. */
function roundConstants(): BigUint64Array {
  const constants = new BigUint64Array(24);
  let register = 1;
  for (let round = 0; round < 24; round++) {
    for (let bit = 0; bit < 7; bit++) {
      if (register & 1) constants[round] = (constants[round] ?? 0n) ^ (1n << ((1n << BigInt(bit)) - 1n));
      register = (register << 1) ^ (register & 0x80 ? 0x171 : 0);
    }
  }
  return constants;
}

/**
 * A WebAssembly module with one function, `digest(blocks)`: absorbs padded blocks from `inputOffset` on and
 * stores the first four lanes at 0. The 25 lanes stay in locals, which is where the speed comes from.
 */
function moduleBytes(): Uint8Array<ArrayBuffer> {
  const [blocks, pointer, round, a, b, c, d] = [0, 1, 2, 3, 28, 53, 58];
  const get = (local: number) => [0x20, local];
  const set = (local: number) => [0x21, local];
  const load = (address: number, offset: number) => [...get(address), 0x29, 3, ...leb(offset)];
  const addTo = (local: number, amount: number) => [
    ...get(local),
    0x41,
    ...sleb(amount),
    0x6a,
    ...set(local),
  ];
  const [and, xor, rotl] = [0x83, 0x85, 0x89];
  const rotate = (bits: number) => [0x42, ...sleb(bits), rotl];
  const invert = [0x42, 0x7f, xor];
  const five = [0, 1, 2, 3, 4];
  const lane = (base: number, x: number, y: number) => base + (x % 5) + 5 * (y % 5);

  const absorbBlock = Array.from({ length: rate / 8 }, (_, i) => [
    ...get(a + i),
    ...load(pointer, inputOffset + 8 * i),
    xor,
    ...set(a + i),
  ]);
  const columns = five.map((x) => [
    ...get(a + x),
    ...[1, 2, 3, 4].flatMap((y) => [...get(lane(a, x, y)), xor]),
    ...set(c + x),
  ]);
  const offsets = rotationOffsets();
  const thetaRhoPi = five.map((x) => [
    ...get(c + ((x + 4) % 5)),
    ...get(c + ((x + 1) % 5)),
    ...rotate(1),
    xor,
    ...set(d),
    ...five.flatMap((y) => [
      ...get(lane(a, x, y)),
      ...get(d),
      xor,
      ...rotate(offsets[lane(0, x, y)] ?? 0),
      ...set(lane(b, y, 2 * x + 3 * y)),
    ]),
  ]);
  const chi = five.flatMap((y) =>
    five.map((x) => [
      ...get(lane(b, x, y)),
      ...get(lane(b, x + 1, y)),
      ...invert,
      ...get(lane(b, x + 2, y)),
      and,
      xor,
      ...set(lane(a, x, y)),
    ]),
  );
  const iota = [...get(a), ...load(round, roundConstantsOffset), xor, ...set(a)];

  const body = [
    ...[0x03, 0x40], // loop over blocks
    ...absorbBlock.flat(),
    ...[0x41, 0, ...set(round)],
    ...[0x03, 0x40], // loop over rounds
    ...columns.flat(),
    ...thetaRhoPi.flat(),
    ...chi.flat(),
    ...iota,
    ...addTo(round, 8),
    ...[...get(round), 0x41, ...sleb(24 * 8), 0x49, 0x0d, 0, 0x0b],
    ...addTo(pointer, rate),
    ...addTo(blocks, -1),
    ...[...get(blocks), 0x0d, 0, 0x0b],
    ...[0, 1, 2, 3].flatMap((i) => [0x41, 8 * i, ...get(a + i), 0x37, 3, 0]),
    0x0b,
  ];
  const code = [2, ...[2, 0x7f], ...[d - a + 1, 0x7e], ...body];
  const section = (id: number, content: number[]) => [id, ...leb(content.length), ...content];
  return new Uint8Array([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, 1, 0x7f, 0]),
    ...section(3, [1, 0]),
    ...section(5, [1, 0, 4]),
    ...section(7, [2, ...name("memory"), 2, 0, ...name("digest"), 0, 0]),
    ...section(10, [1, ...leb(code.length), ...code]),
  ]);
}

/** By how many bits step rho turns each lane (FIPS 202, table 2). */
function rotationOffsets(): number[] {
  const offsets = new Array<number>(25).fill(0);
  for (let t = 0, x = 1, y = 0; t < 24; t++) {
    offsets[x + 5 * y] = (((t + 1) * (t + 2)) / 2) % 64;
    [x, y] = [y, (2 * x + 3 * y) % 5];
  }
  return offsets;
}

function name(text: string): number[] {
  return [text.length, ...new TextEncoder().encode(text)];
}

/** Unsigned LEB128, the integer encoding of WebAssembly. */
function leb(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...leb(value >>> 7)];
}

/** Signed LEB128. */
function sleb(value: number): number[] {
  return value >= -64 && value < 64 ? [value & 0x7f] : [(value & 0x7f) | 0x80, ...sleb(value >> 7)];
}
