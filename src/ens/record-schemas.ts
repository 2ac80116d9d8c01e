import { z } from "zod/v4";

// What decoded records look like.

const optional = (description: string) => z.string().optional().describe(description);
const reason = optional("Why the value is not decoded, in one word");
const url = optional("The page, the image or the contact; of a content hash at a public gateway");
const text = optional("The text of a data record; a text in the form that its key requires");

const members = {
  addresses: {
    address: optional("The native address (ENSIP-9, ENSIP-11), with checksum where it has one"),
    reason,
  },
  texts: {
    handle: optional("Of an account at a service, without `@`"),
    url,
    kind: optional("Of an image (ENSIP-12): `https`, `ipfs`, `data`, `nft`"),
    text,
    words: z.array(z.string()).optional().describe("Keywords"),
    colors: z.array(z.string()).optional().describe("Of a theme: background, text, accent, its text, border"),
    reason,
  },
  data: { text, reason },
  contenthash: {
    protocol: optional("Such as `ipfs` (ENSIP-7)"),
    uri: optional("With the protocol's scheme"),
    url,
    reason,
  },
};

/** The schema of a decoded record of any kind. */
export const decodedRecordSchema = z.strictObject({
  ...{ ...members.addresses, ...members.contenthash, ...members.texts },
});

/** What a record stands for, or the reason why nobody knows: `unsupported`, `malformed` and others. */
export type DecodedRecord = z.output<typeof decodedRecordSchema>;

const byKey = <T extends z.core.$ZodLooseShape>(shape: T) =>
  z.record(z.string(), z.strictObject(shape)).optional();

/** The schema of decoded records by kind and key; records that no rule covers are absent. */
export const decodedRecordsSchema = z.strictObject({
  addresses: byKey(members.addresses),
  texts: byKey(members.texts),
  data: byKey(members.data),
  contenthash: z.strictObject(members.contenthash).optional(),
});

/** No rule knows the value. */
export const unsupported: DecodedRecord = { reason: "unsupported" };
/** The value has not the form that its rule requires. */
export const malformed: DecodedRecord = { reason: "malformed" };

/** A name of DNS. */
export const dnsName =
  /^(?=.{1,253}$)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])$/i;

/** Where browsers find what is on IPFS. */
export const ipfsGateway = "https://ipfs.io";
