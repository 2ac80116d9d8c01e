// The second is a slip of the contract that some tokens carry.
const prefixes = ["data:application/json;base64,", "data:application/json;_base64,"];

/** First label of the name in a token's metadata document; undefined if the document is none or names nothing. */
export function labelInMetadata(uri: string): string | undefined {
  const prefix = prefixes.find((text) => uri.startsWith(text));
  if (prefix === undefined) return undefined;
  const name = nameIn(Buffer.from(uri.slice(prefix.length), "base64").toString("utf8"));
  return name?.split(".")[0];
}

function nameIn(json: string): string | undefined {
  try {
    const document: unknown = JSON.parse(json);
    if (typeof document !== "object" || document === null || !("name" in document)) return undefined;
    return typeof document.name === "string" ? document.name : undefined;
  } catch {
    // Not JSON: the document tells no name.
    return undefined;
  }
}
