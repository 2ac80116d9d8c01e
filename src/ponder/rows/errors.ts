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
  const refuse = (error: unknown): never => {
    if (!(error instanceof TypeError)) throw error;
    throw new NonRetryableUserError(unsupported(error.stack ?? error.message));
  };
  return new Proxy(store, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== "function") return method;
      return (...given: unknown[]) => {
        try {
          const result: unknown = method.apply(target, given);
          return result instanceof Promise ? result.catch(refuse) : result;
        } catch (error) {
          return refuse(error);
        }
      };
    },
    set: (target, name, value) => Reflect.set(target, name, value),
  });
}
