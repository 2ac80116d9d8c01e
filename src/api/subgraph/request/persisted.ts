import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { isObject } from "../schema/inputs.ts";

/**
 * The request names a document by its hash alone, which is not known; `entry` is what Apollo's clients expect, and
 * answer with the document.
 */
export class PersistedQueryError extends Error {
  override name = "PersistedQueryError";
  readonly entry: { message: string; extensions: { code: string } };
  constructor(message: string, code: string) {
    super(message);
    this.entry = { message, extensions: { code } };
  }
}

// Bytes of all documents, and of one: larger ones are sent each time. The entry itself is about 300.
const maxBytes = 16_777_216;
const maxDocumentCharacters = 131_072;

/**
 * Documents by their SHA-256, registered by the first client that sends one with its hash: Apollo's automatic persisted
 * queries, version 1. The longest unused ones make room; clients register them again.
 */
export function createPersistedQueries(maxSize = maxBytes) {
  const documents = new LRUCache<string, string>({
    maxSize,
    maxEntrySize: maxDocumentCharacters,
    sizeCalculation: (text) => 2 * text.length + 300,
  });
  return {
    /**
     * The document that `extensions` names, and its hash: the given one, or the registered one. Throws
     * PersistedQueryError; `fault` says what is wrong.
     */
    find(query: unknown, extensions: unknown): { query: unknown; hash?: string; fault?: string } {
      const { persistedQuery: asked } = isObject(extensions) ? extensions : {};
      if (!isObject(asked ?? null)) return { query };
      const { version, sha256Hash: hash } = asked as Record<string, unknown>;
      if (version !== 1) {
        if (query !== undefined) return { query };
        throw new PersistedQueryError("PersistedQueryNotSupported", "PERSISTED_QUERY_NOT_SUPPORTED");
      }
      if (typeof hash !== "string" || !/^[0-9a-f]{64}$/.test(hash))
        return { query, fault: "sha256Hash is not a SHA-256 in 64 lower-case hex digits" };
      const found = query ?? documents.get(hash);
      if (found === undefined)
        throw new PersistedQueryError("PersistedQueryNotFound", "PERSISTED_QUERY_NOT_FOUND");
      if (typeof query === "string" && createHash("sha256").update(query).digest("hex") !== hash)
        return { query, fault: "provided sha does not match query" };
      return { query: found, hash };
    },
    /** Registers a document that could be run. */
    keep: (hash: string, query: string) => void documents.set(hash, query),
  };
}
