import type { CallOptions } from "./request.ts";
import type { Meta } from "./types.generated.ts";

/** A page of a list. `next`: the cursor of the next one, null on the last; `total`: null where it is not counted. */
export type Page<T> = { data: T[]; next: string | null; total: number | null; meta: Meta };

/** Rows of all pages by `for await`, or one page at a time. A list without further calls sends no request. */
export type List<T> = AsyncIterable<T> & {
  page: (options?: CallOptions & { cursor?: string | undefined }) => Promise<Page<T>>;
};

/** A list whose pages `read` reads. `signal` ends the reads of all pages. */
export function createList<T>(
  read: (cursor: string | undefined, signal: AbortSignal | undefined) => Promise<Page<T>>,
  { signal }: CallOptions,
): List<T> {
  return {
    page: (options = {}) => read(options.cursor || undefined, options.signal ?? signal),
    async *[Symbol.asyncIterator]() {
      let cursor: string | undefined;
      do {
        const page: Page<T> = await read(cursor, signal);
        yield* page.data;
        cursor = page.next ?? undefined;
      } while (cursor);
    },
  };
}
