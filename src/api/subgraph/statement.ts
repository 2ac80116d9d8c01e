/** Collects the bound parameters of one SQL statement. No text of a request ever becomes SQL text. */
export type Statement = {
  readonly values: string[];
  /** Placeholder of a value, cast to an SQL type. */
  bind(value: string, type?: "text" | "numeric" | "text[]" | "numeric[]" | "integer[]"): string;
  /** A table alias that no other part of the statement has. */
  alias(): string;
};

/** An empty statement. */
export function createStatement(): Statement {
  const values: string[] = [];
  const places = new Map<string, number>();
  let aliases = 0;
  return {
    values,
    bind(value, type = "text") {
      let place = places.get(value);
      if (place === undefined) {
        place = values.push(value);
        places.set(value, place);
      }
      // Sent as text and cast by the server: one placeholder may serve several types.
      return type === "text" ? `$${place}::text` : `$${place}::text::${type}`;
    },
    alias: () => `t${aliases++}`,
  };
}

/** The text form of a Postgres array. Elements hold no NUL. */
export function arrayLiteral(values: readonly string[]): string {
  return `{${values.map((value) => `"${value.replace(/["\\]/g, "\\$&")}"`).join(",")}}`;
}
