import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { computeDigest } from "../../src/ens/keccak.ts";
import { type LabelSetPin, labelSetIdPattern } from "../../src/labels/label-set.ts";
import { InputError, type LabelFormat, type LabelParser, longestRow, type RowSink } from "./parser.ts";

/** An `.ensrainbow` file: length-delimited Protocol Buffers messages, first a header and then a record per label. */
export const ensrainbow: LabelFormat = {
  title: ".ensrainbow",
  recognisedBy: "its header",
  detects: (head) => head.subarray(0, 20).includes(`\n\n${identifier}`),
  createParser: createEnsrainbowParser,
  labelSetOf: readHeader,
};

/** Label set versions of the format: a uint32. */
export const labelSetVersions = { min: 0, max: 0xffff_ffff };

const identifier = "ensrainbow";
const formatVersion = 1;

/** Reports broken records to the sink. After a broken length it can read nothing more. */
function createEnsrainbowParser(sink: RowSink): LabelParser {
  const none = Buffer.alloc(0);
  let rest: Buffer = none;
  let rows = 0;
  let hasHeader = false;
  let isBroken = false;
  let consumed = 0;

  const onMessage = (message: Buffer) => {
    if (hasHeader) {
      rows++;
      readRecord(sink, message);
    } else parseHeader(message);
    hasHeader = true;
  };

  return {
    push: (chunk) => {
      if (isBroken) return;
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      const base = consumed;
      let at = 0;
      for (;;) {
        const delimiter = readLength(bytes, at);
        if (delimiter === undefined) break;
        if (delimiter.length > longestRow) {
          isBroken = true;
          rows++;
          sink.invalid("its length is broken, so nothing after it can be read");
          rest = none;
          return;
        }
        const end = delimiter.start + delimiter.length;
        if (end > bytes.length) break;
        consumed = base + at;
        onMessage(bytes.subarray(delimiter.start, end));
        at = end;
      }
      consumed = base + at;
      rest = bytes.subarray(at);
    },
    end: () => {
      if (!hasHeader && !isBroken) throw new InputError("The file ends within its header.");
      if (rest.length === 0) return;
      rows++;
      sink.invalid("the file ends within this record");
    },
    position: () => `record ${rows} at byte ${consumed}`,
  };
}

/** The varint at `at` and its end; undefined while it is incomplete. */
function readLength(bytes: Buffer, at: number): { length: number; start: number } | undefined {
  let length = 0;
  for (let i = 0; i < 5; i++) {
    const byte = bytes[at + i];
    if (byte === undefined) return undefined;
    length += (byte & 0x7f) * 2 ** (7 * i);
    if (byte < 0x80) return { length, start: at + i + 1 };
  }
  return { length: Number.POSITIVE_INFINITY, start: at };
}

function readHeader(head: Buffer): LabelSetPin {
  const { start, length } = readLength(head, 0) ?? { start: 0, length: 0 };
  if (start + length > head.length) throw new InputError("The file ends within its header.");
  return parseHeader(head.subarray(start, start + length));
}

function parseHeader(bytes: Buffer): LabelSetPin {
  const fields = parseFields(bytes);
  if (fields === undefined) throw new InputError("The file's header is broken.");
  const text = (field: number) => Buffer.from(fields.bytes.get(field) ?? []).toString("utf8");
  if (text(1) !== identifier) throw new InputError("This is not an .ensrainbow file.");
  const version = fields.numbers.get(2) ?? 0;
  if (version !== formatVersion) {
    throw new InputError(`The file's format version is ${version}; expected ${formatVersion}.`);
  }
  const labelSetId = text(3);
  if (!labelSetIdPattern.test(labelSetId)) throw new InputError("The file's label set id is malformed.");
  return { labelSetId, labelSetVersion: fields.numbers.get(4) ?? 0 };
}

function readRecord(sink: RowSink, message: Buffer): void {
  const fields = parseFields(message)?.bytes;
  const [given, label] = [fields?.get(1), fields?.get(2)];
  if (fields === undefined) sink.invalid("the record is broken");
  else if (given?.length !== 32) {
    sink.invalid(`the labelhash has ${given?.length ?? 0} bytes; expected 32`);
  } else sink.label(Buffer.from(label ?? []), 0, label?.length ?? 0, given);
}

/**
 * Fields of a message by number, in any order, repeated or unknown, as Protocol Buffers allow; undefined for a broken
 * message.
 */
function parseFields(message: Buffer) {
  const fields = { bytes: new Map<number, Uint8Array>(), numbers: new Map<number, number>() };
  try {
    const reader = new BinaryReader(message);
    while (reader.pos < reader.len) {
      const [field, wireType] = reader.tag();
      if (wireType === WireType.LengthDelimited) fields.bytes.set(field, reader.bytes());
      else if (wireType === WireType.Varint) fields.numbers.set(field, reader.uint32());
      else reader.skip(wireType, field);
    }
    return fields;
  } catch {
    return undefined;
  }
}

/** Header of an `.ensrainbow` file. */
export function encodeHeader({ labelSetId, labelSetVersion }: LabelSetPin): Uint8Array {
  return new BinaryWriter()
    .fork()
    .tag(1, WireType.LengthDelimited)
    .string(identifier)
    .tag(2, WireType.Varint)
    .uint32(formatVersion)
    .tag(3, WireType.LengthDelimited)
    .string(labelSetId)
    .tag(4, WireType.Varint)
    .uint32(labelSetVersion)
    .join()
    .finish();
}

/** Record of a label, with its length. */
export function encodeRecord(label: string): Uint8Array {
  const writer = new BinaryWriter().fork().tag(1, WireType.LengthDelimited).bytes(computeDigest(label));
  // Protocol Buffers omit an empty field.
  if (label !== "") writer.tag(2, WireType.LengthDelimited).string(label);
  return writer.join().finish();
}
