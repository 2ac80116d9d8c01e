import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { digestOfText } from "../../src/ens/keccak.ts";
import { isLabelSetId, type LabelSetPin } from "../../src/labels/label-set.ts";
import {
  type Checkpoint,
  InputError,
  type LabelFormat,
  type LabelParser,
  longestRow,
  type RowSink,
} from "./parser.ts";

/** An `.ensrainbow` file: length-delimited Protocol Buffers messages, one header and then one record per label. */
export const ensrainbow: LabelFormat = {
  title: ".ensrainbow",
  recognisedBy: "its header",
  detects: (head) => head.subarray(0, 20).includes(`\n\n${identifier}`),
  createParser: createEnsrainbowParser,
  labelSetOf: readHeader,
};

/** The label set versions that the format can hold: a uint32. */
export const labelSetVersions = { min: 0, max: 0xffff_ffff };

const identifier = "ensrainbow";
const formatVersion = 1;

/** Broken records are reported to the sink; after a broken length nothing more can be read. */
function createEnsrainbowParser(sink: RowSink, from: Checkpoint): LabelParser {
  const none = Buffer.alloc(0);
  let rest: Buffer = none;
  let rows = from.rows;
  let hasHeader = from.isInside;
  let isBroken = false;
  let consumed = from.offset;

  const onMessage = (bytes: Buffer, start: number, end: number) => {
    if (hasHeader) {
      rows++;
      readRecord(sink, bytes, start, end);
      return;
    }
    parseHeader(bytes.subarray(start, end));
    hasHeader = true;
  };

  return {
    push: (chunk) => {
      if (isBroken) return;
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      const base = consumed;
      let at = 0;
      while (at < bytes.length) {
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
        onMessage(bytes, delimiter.start, end);
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
    checkpoint: () => ({ offset: consumed, rows, isInside: hasHeader }),
  };
}

/** The varint at `at` and where it ends; undefined when it is not complete. */
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

/** The label set in the header of the file that begins with `head`. Throws `InputError` if the header is not valid. */
function readHeader(head: Buffer): LabelSetPin {
  const { start, length } = readLength(head, 0) ?? { start: 0, length: 0 };
  if (start + length > head.length) throw new InputError("The file ends within its header.");
  return parseHeader(head.subarray(start, start + length));
}

function parseHeader(bytes: Buffer): LabelSetPin {
  const header = { identifier: "", formatVersion: 0, labelSetId: "", labelSetVersion: 0 };
  try {
    const reader = new BinaryReader(bytes);
    while (reader.pos < reader.len) {
      const [field, wireType] = reader.tag();
      if (field === 1) header.identifier = reader.string();
      else if (field === 2) header.formatVersion = reader.uint32();
      else if (field === 3) header.labelSetId = reader.string();
      else if (field === 4) header.labelSetVersion = reader.uint32();
      else reader.skip(wireType, field);
    }
  } catch (error) {
    throw new InputError("The file's header is broken.", { cause: error });
  }
  if (header.identifier !== identifier) throw new InputError("This is not an .ensrainbow file.");
  if (header.formatVersion !== formatVersion) {
    throw new InputError(`The file's format version is ${header.formatVersion}; expected ${formatVersion}.`);
  }
  if (!isLabelSetId(header.labelSetId)) throw new InputError("The file's label set id is malformed.");
  return { labelSetId: header.labelSetId, labelSetVersion: header.labelSetVersion };
}

const [hashTag, labelTag] = [0x0a, 0x12];

function readRecord(sink: RowSink, bytes: Buffer, start: number, end: number): void {
  const labelAt = start + 34;
  if (bytes[start] === hashTag && bytes[start + 1] === 32 && labelAt <= end) {
    const given = bytes.subarray(start + 2, labelAt);
    if (labelAt === end) {
      sink.label(bytes, end, end, given);
      return;
    }
    const label = bytes[labelAt] === labelTag ? readLength(bytes, labelAt + 1) : undefined;
    if (label !== undefined && label.start + label.length === end) {
      sink.label(bytes, label.start, end, given);
      return;
    }
  }
  readUnusualRecord(sink, bytes.subarray(start, end));
}

/** Fields in another order, repeated or unknown, which Protocol Buffers allows. */
function readUnusualRecord(sink: RowSink, bytes: Buffer): void {
  let [given, label]: Uint8Array[] = [];
  try {
    const reader = new BinaryReader(bytes);
    while (reader.pos < reader.len) {
      const [field, wireType] = reader.tag();
      if (field === 1 && wireType === WireType.LengthDelimited) given = reader.bytes();
      else if (field === 2 && wireType === WireType.LengthDelimited) label = reader.bytes();
      else reader.skip(wireType, field);
    }
  } catch {
    sink.invalid("the record is broken");
    return;
  }
  if (given?.length !== 32) sink.invalid(`the labelhash has ${given?.length ?? 0} bytes; expected 32`);
  else sink.label(Buffer.from(label ?? []), 0, label?.length ?? 0, given);
}

/** The first bytes of an `.ensrainbow` file. */
export function encodeHeader({ labelSetId, labelSetVersion }: LabelSetPin): Buffer {
  const message = new BinaryWriter()
    .tag(1, WireType.LengthDelimited)
    .string(identifier)
    .tag(2, WireType.Varint)
    .uint32(formatVersion)
    .tag(3, WireType.LengthDelimited)
    .string(labelSetId)
    .tag(4, WireType.Varint)
    .uint32(labelSetVersion)
    .finish();
  return Buffer.concat([varint(message.length), message]);
}

const headOfRecord = Buffer.from([hashTag, 32]);
const tagOfLabel = Buffer.from([labelTag]);

/** The bytes of one label's record, its length included. */
export function encodeRecord(label: string): Buffer {
  const text = Buffer.from(label);
  // Protocol Buffers omit an empty field.
  const field = text.length === 0 ? [] : [tagOfLabel, varint(text.length), text];
  const length = 34 + field.reduce((sum, { length }) => sum + length, 0);
  return Buffer.concat([varint(length), headOfRecord, digestOfText(label), ...field]);
}

function varint(value: number): Buffer {
  return Buffer.from(new BinaryWriter().uint32(value).finish());
}
