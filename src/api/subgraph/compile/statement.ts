/** Collects the bound parameters of one SQL statement. No text of a request ever becomes SQL text. */
export type Statement = {
  /** Placeholder of a value, cast to an SQL type. */
  bind(value: string, type?: "text" | "numeric" | "text[]" | "numeric[]" | "integer[]"): string;
  /** A table alias that no other part of the statement has. */
  alias(): string;
  /** The finished SQL with its parameters, without those of parts that were left out. */
  finish(sql: string): { sql: string; values: string[] };
};

/** An empty statement. */
export function createStatement(): Statement {
  const values: string[] = [];
  const places = new Map<string, number>();
  let aliases = 0;
  return {
    bind(value, type = "text") {
      // Lists are parameters of their own type, so that the planner sees their values; the other types share
      // a placeholder of type text.
      const isList = type.endsWith("[]");
      const key = `${isList ? type : "text"}:${value}`;
      let place = places.get(key);
      if (place === undefined) {
        place = values.push(value);
        places.set(key, place);
      }
      return isList || type === "text" ? `$${place}::${type}` : `$${place}::text::${type}`;
    },
    alias: () => `t${aliases++}`,
    // Postgres refuses parameters that the text does not use.
    finish(sql) {
      const used = new Map<string, number>();
      const text = sql.replace(/\$(\d+)/g, (_, place: string) => {
        const next = used.get(place) ?? used.size + 1;
        used.set(place, next);
        return `$${next}`;
      });
      return { sql: text, values: [...used.keys()].map((place) => values[Number(place) - 1] ?? "") };
    },
  };
}

/** The text form of a Postgres array. Elements hold no NUL. */
export function arrayLiteral(values: readonly string[]): string {
  return `{${values.map((value) => `"${value.replace(/["\\]/g, "\\$&")}"`).join(",")}}`;
}
