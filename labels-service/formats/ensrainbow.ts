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

/** Fields may come in any order, repeated, or be unknown, which Protocol Buffers allows. */
function readRecord(sink: RowSink, message: Buffer): void {
  let [given, label]: Uint8Array[] = [];
  try {
    const reader = new BinaryReader(message);
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

/** The bytes of one label's record, its length included. */
export function encodeRecord(label: string): Uint8Array {
  const writer = new BinaryWriter().fork().tag(1, WireType.LengthDelimited).bytes(digestOfText(label));
  // Protocol Buffers omit an empty field.
  if (label !== "") writer.tag(2, WireType.LengthDelimited).string(label);
  return writer.join().finish();
}
