import type { Hex } from "viem";

// Own code, because this is the innermost loop of both services: every event with a node hashes, and so does every label read or imported.
// It takes half the time of the libraries' WebAssembly.

/**
 * keccak-256 of bytes, or of a text's UTF-8 bytes.
 * @example keccak256("eth") // "0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0"
 */
export function keccak256(data: Uint8Array | string): Hex {
  const digest = typeof data === "string" ? digestOfText(data) : digestOf(data);
  return `0x${digest.toString("hex")}`;
}

/** keccak-256 of bytes, as 32 bytes in a buffer that the next call overwrites. */
export function digestOf(bytes: Uint8Array): Buffer {
  room(bytes.length).set(bytes, inputOffset);
  return digestOfInput(bytes.length);
}

/** keccak-256 of a text's UTF-8 bytes, in the buffer of `digestOf`. */
export function digestOfText(text: string): Buffer {
  return digestOfInput(room(text.length * 3).write(text, inputOffset));
}

const rate = 136;
/** Length of a keccak-256 hash in bytes. */
export const digestLength = 32;
const roundConstantsOffset = 64;
const inputOffset = 256;

// Locals of the WebAssembly function: lanes, lanes after a round, column parities, what theta adds to columns, a row after rho and pi.
const [blocks, pointer, round, lanes, next, parity, added, row, end] = [0, 1, 2, 3, 28, 53, 58, 63, 68];
const [and, xor, rotl] = [0x83, 0x85, 0x89];
const five = [0, 1, 2, 3, 4];
/** Bits by which step rho rotates each lane (FIPS 202, table 2). */
const rotations = [
  0, 1, 62, 28, 27, 36, 44, 6, 55, 20, 3, 10, 43, 25, 39, 41, 45, 15, 21, 8, 18, 2, 61, 56, 14,
];

// WebAssembly instructions.
const get = (local: number) => [0x20, local];
const set = (local: number) => [0x21, local];
const load = (address: number, offset: number) => [...get(address), 0x29, 3, ...leb(offset)];
const add = (local: number, amount: number) => [...get(local), 0x41, ...leb(amount), 0x6a, ...set(local)];
const rotate = (bits: number) => [0x42, ...leb(bits), rotl];
const name = (text: string) => [text.length, ...Buffer.from(text)];

const { memory, digest: absorb } = instantiate(moduleBytes());
let view = Buffer.from(memory.buffer);
let output = Buffer.from(memory.buffer, 0, digestLength);
new BigUint64Array(memory.buffer, roundConstantsOffset, 24).set(roundConstants());

type Exports = {
  memory: { buffer: ArrayBuffer; grow(pages: number): number };
  digest(blocks: number): void;
};

function instantiate(bytes: Uint8Array): Exports {
  // Node has WebAssembly, but only the browser's types declare it.
  const { Module, Instance } = (globalThis as unknown as { WebAssembly: WebAssembly }).WebAssembly;
  return new Instance(new Module(bytes)).exports;
}

type WebAssembly = {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object) => { exports: Exports };
};

function room(length: number): Buffer {
  const missing = inputOffset + length + rate - view.length;
  if (missing > 0) {
    memory.grow(Math.ceil(missing / 65_536));
    view = Buffer.from(memory.buffer);
    output = Buffer.from(memory.buffer, 0, digestLength);
  }
  return view;
}

function digestOfInput(length: number): Buffer {
  const blocks = Math.floor(length / rate) + 1;
  const end = inputOffset + blocks * rate;
  // The input behind the message is zero: every digest clears what it absorbed.
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
 * WebAssembly module with one function, `digest(blocks)`. It absorbs padded blocks from `inputOffset` on, clears them, and stores the first
 * four lanes at 0. It is fast because lanes stay in locals, and each row of new lanes needs few of them at a time.
 */
function moduleBytes(): Uint8Array<ArrayBuffer> {
  const body = [
    ...[0x03, 0x40], // loop over blocks
    ...absorbBlock(),
    ...[0x41, 0, ...set(round)],
    ...[0x03, 0x40], // loop over rounds, two at once, so that no lane is moved
    ...roundOf(lanes, next, 0),
    ...roundOf(next, lanes, 1),
    ...add(round, 16),
    ...[...get(round), 0x41, ...leb(24 * 8), 0x49, 0x0d, 0, 0x0b],
    ...add(pointer, rate),
    ...add(blocks, -1),
    ...[...get(blocks), 0x0d, 0, 0x0b],
    ...[0, 1, 2, 3].flatMap((i) => [0x41, 8 * i, ...get(lanes + i), 0x37, 3, 0]),
    0x0b,
  ];
  const code = [2, ...[2, 0x7f], ...[end - lanes, 0x7e], ...body];
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

function absorbBlock(): number[] {
  return Array.from({ length: rate / 8 }, (_, i) => [
    ...get(lanes + i),
    ...load(pointer, inputOffset + 8 * i),
    xor,
    ...set(lanes + i),
    ...[...get(pointer), 0x42, 0, 0x37, 3, ...leb(inputOffset + 8 * i)],
  ]).flat();
}

/** A round (FIPS 202, section 3.2) from one set of lanes to the other. `index` is its index among the rounds of one loop. */
function roundOf(from: number, to: number, index: number): number[] {
  return [
    ...theta(from),
    ...five.flatMap((y) => [...rhoPi(from, y), ...chi(to, y)]),
    ...[...get(to), ...load(round, roundConstantsOffset + 8 * index), xor, ...set(to)],
  ];
}

function theta(from: number): number[] {
  return [
    ...five.flatMap((x) => [
      ...get(from + x),
      ...[1, 2, 3, 4].flatMap((y) => [...get(from + x + 5 * y), xor]),
      ...set(parity + x),
    ]),
    ...five.flatMap((x) => [
      ...get(parity + ((x + 4) % 5)),
      ...get(parity + ((x + 1) % 5)),
      ...rotate(1),
      xor,
      ...set(added + x),
    ]),
  ];
}

// Pi brings lane (x, y) to (y, 2x + 3y), so that (x, y) comes from (x + 3y, x).
function rhoPi(from: number, y: number): number[] {
  return five.flatMap((x) => {
    const column = (x + 3 * y) % 5;
    const bits = rotate(rotations[column + 5 * x] ?? 0);
    return [...get(from + column + 5 * x), ...get(added + column), xor, ...bits, ...set(row + x)];
  });
}

function chi(to: number, y: number): number[] {
  const invert = [0x42, 0x7f, xor];
  return five.flatMap((x) => [
    ...get(row + x),
    ...[...get(row + ((x + 1) % 5)), ...invert],
    ...get(row + ((x + 2) % 5)),
    ...[and, xor],
    ...set(to + x + 5 * y),
  ]);
}

/** Signed LEB128, WebAssembly's integer encoding. Non-negative numbers read the same as unsigned. */
function leb(value: number): number[] {
  return value >= -64 && value < 64 ? [value & 0x7f] : [(value & 0x7f) | 0x80, ...leb(value >> 7)];
}
