/** An HTTP response before it is written. A body of several parts is computed while it is sent. */
export type Answer = {
  status: number;
  contentType: string;
  body: string | Iterable<string>;
  /** For metrics: how the request went, in one word. */
  outcome: Outcome;
};

/** How a request went. */
export type Outcome = "ok" | "healed" | "unknown" | "refused" | "not_ready" | "busy" | "not_found" | "failed";

/** 200 with a JSON body that is already serialised. */
export function jsonAnswer(body: Answer["body"], outcome: Outcome = "ok"): Answer {
  return { status: 200, contentType: "application/json", body, outcome };
}

const outcomes: Record<number, Outcome> = { 404: "unknown", 500: "failed", 503: "not_ready" };

/** The error body of the label endpoints. */
export function errorAnswer(status: number, error: string): Answer {
  return {
    status,
    contentType: "application/json",
    body: JSON.stringify({ status: "error", error, errorCode: status }),
    outcome: outcomes[status] ?? "refused",
  };
}

/** The answer to unknown paths and methods; never a JSON error body. */
export const notFound: Answer = {
  status: 404,
  contentType: "text/plain; charset=UTF-8",
  body: "404 Not Found",
  outcome: "not_found",
};

/** The answer of everything that needs the label database while there is none. */
export const notReady = errorAnswer(503, "The label database is not ready yet");

/** The answer while other requests need all the memory that large requests and responses may take. */
export const busy: Answer = {
  ...errorAnswer(503, "The service is busy with other large requests, ask again later"),
  outcome: "busy",
};

/** The answer when the service fails. */
export const internalError = errorAnswer(500, "Internal server error");

/** Memory in bytes that large requests and responses share. */
export type Memory = {
  /** Takes some of it; false if there is not enough. */
  take(bytes: number): boolean;
  /** Gives back all that was taken. */
  release(): void;
};

/** Hands out shares of `bytes` of memory: what one share takes, the others lack until it is released. */
export function createSharedMemory(bytes: number): () => Memory {
  let free = bytes;
  return () => {
    let taken = 0;
    return {
      take: (wanted) => {
        if (wanted > free) return false;
        free -= wanted;
        taken += wanted;
        return true;
      },
      release: () => {
        free += taken;
        taken = 0;
      },
    };
  };
}
