import { describeUnsupported, moduleOfPonder } from "../expected.ts";

type ErrorClass = new (message: string) => Error;
/** Ponder's error classes: it retries the first; the others end the index with their message. */
export const { RetryableError, NonRetryableUserError, RecordNotFoundError } = moduleOfPonder<
  Record<"RetryableError" | "NonRetryableUserError" | "RecordNotFoundError", ErrorClass>
>("internal/errors.js", "RetryableError", "NonRetryableUserError", "RecordNotFoundError");

/**
 * Wraps a store so that a TypeError in a method ends the index: it means an incompatible Ponder, and a retry does not
 * help.
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
          throw new NonRetryableUserError(describeUnsupported(error.stack ?? error.message));
        }
      };
    },
  });
}
