import { concat, type Hex, keccak256, size, toHex } from "viem";

/** The contract's result for one exact call: return data, or revert data. */
export type TableEntry = { call: Hex; data: Hex; isRevert?: boolean };

const op = {
  eq: "14",
  shr: "1c",
  keccak: "20",
  calldataload: "35",
  calldatasize: "36",
  calldatacopy: "37",
  codecopy: "39",
  sub: "03",
  stop: "00",
  jumpi: "57",
  jumpdest: "5b",
  push1: "60",
  push2: "61",
  push32: "7f",
  dup1: "80",
  log0: "a0",
  return: "f3",
  revert: "fd",
} as const;

const byte = (value: number) => value.toString(16).padStart(2, "0");
const push1 = (value: number) => op.push1 + byte(value);
const push2 = (value: number) => op.push2 + value.toString(16).padStart(4, "0");
const bytesIn = (code: string) => code.length / 2;

/** First byte of calls that make the contract emit an event; no resolver function's selector begins with it. */
const logCall = (topics: number) => 0xe0 + topics;

/** Calldata that makes the contract emit an event with these topics (2 to 4) and this data. */
export function emitCall(topics: readonly Hex[], data: Hex): Hex {
  return concat([toHex(logCall(topics.length), { size: 1 }), ...topics, data]);
}

/**
 * Code of a contract that serves exact calls from a table, emits the events of `emitCall`, and reverts on
 * anything else: a resolver or registry whose whole state a test writes.
 */
export function tableContract(entries: readonly TableEntry[]): Hex {
  const emitters = [2, 3, 4];
  const dispatchSize = emitters.length * 13 + 10 + entries.length * 39 + 5;
  const blocks: string[] = [];
  let place = dispatchSize;
  const placed = (block: string) => {
    const at = place;
    blocks.push(block);
    place += bytesIn(block);
    return at;
  };

  const emitterPlaces = emitters.map((topics) => [topics, placed(emitterOf(topics))] as const);
  const answerSize = 1 + 3 + 3 + 2 + 1 + 3 + 2 + 1;
  let dataPlace = place + entries.length * answerSize;
  const answerPlaces = entries.map(({ data, isRevert }) => {
    const length = size(data);
    const at = placed(
      op.jumpdest +
        push2(length) +
        push2(dataPlace) +
        push1(0) +
        op.codecopy +
        push2(length) +
        push1(0) +
        (isRevert ? op.revert : op.return),
    );
    dataPlace += length;
    return at;
  });

  const dispatch = [
    // The first byte of the call, compared with those of emitCall.
    ...emitterPlaces.map(
      ([topics, at]) =>
        push1(0) +
        op.calldataload +
        push1(248) +
        op.shr +
        push1(logCall(topics)) +
        op.eq +
        push2(at) +
        op.jumpi,
    ),
    // The hash of the whole call, compared with those of the table.
    op.calldatasize + push1(0) + push1(0) + op.calldatacopy + op.calldatasize + push1(0) + op.keccak,
    ...entries.map(
      ({ call }, i) =>
        op.dup1 + op.push32 + keccak256(call).slice(2) + op.eq + push2(answerPlaces[i] ?? 0) + op.jumpi,
    ),
    push1(0) + push1(0) + op.revert,
  ].join("");
  if (bytesIn(dispatch) !== dispatchSize) throw new Error(`dispatch takes ${bytesIn(dispatch)} bytes`);
  return concat([`0x${dispatch}${blocks.join("")}`, ...entries.map(({ data }) => data)]);
}

function emitterOf(topics: number): string {
  const header = 1 + 32 * topics;
  const loads = Array.from({ length: topics }, (_, i) => push1(1 + 32 * (topics - 1 - i)) + op.calldataload);
  return (
    op.jumpdest +
    (push1(header) + op.calldatasize + op.sub) +
    (op.dup1 + push1(header) + push1(0) + op.calldatacopy) +
    loads.join("") +
    byte(0x80 + topics) +
    push1(0) +
    byte(0xa0 + topics) +
    op.stop
  );
}
