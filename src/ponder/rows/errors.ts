import { moduleOfPonder, unsupported } from "../expected.ts";

type ErrorClass = new (message: string) => Error;
type Errors = Record<"RetryableError" | "NonRetryableUserError" | "RecordNotFoundError", ErrorClass>;

/** Ponder's classes of errors: what it tries again, and what ends the index with the message. */
export const { RetryableError, NonRetryableUserError, RecordNotFoundError } = moduleOfPonder<Errors>(
  "internal/errors.js",
  "RetryableError",
  "NonRetryableUserError",
  "RecordNotFoundError",
);

/**
 * The store, whose methods end the index where Ponder hands them something else than they expect: a TypeError is an incompatibility, and
 * trying again does not help.
 */
export function endingOnTypeErrors<Store extends object>(store: Store): Store {
  return new Proxy(store, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== "function") return method;
      return async (...given: unknown[]) => {
        try {
          return await method.apply(target, given);
        } catch (error) {
          if (!(error instanceof TypeError)) throw error;
          throw new NonRetryableUserError(unsupported(error.stack ?? error.message));
        }
      };
    },
  });
}
