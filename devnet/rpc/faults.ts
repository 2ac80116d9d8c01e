import { z } from "zod";
import { createRandom } from "../random.ts";

// Which share of the requests fails, with which HTTP status; `methods` limits it to requests that contain one of them.
const failure = z
  .object({
    rate: z.number().min(0).max(1).default(1),
    status: z.number().int().min(400).max(599).default(503),
    methods: z.array(z.string()).optional(),
    seed: z.number().int().min(1).default(1),
  })
  .strict();

/** Faults a caller can set: a response delay in milliseconds, a failing share, a node that hangs up. */
export const faultsSchema = z
  .object({
    delayMs: z.number().int().min(0).max(600_000).optional(),
    fail: failure.nullable().optional(),
    down: z.boolean().optional(),
  })
  .strict();

/** State of the injected faults; with the same seed the same requests fail. */
export function createFaults() {
  let delayMs = 0;
  let down = false;
  let fail: z.infer<typeof failure> | undefined;
  let random = createRandom(1);

  return {
    set(change: z.input<typeof faultsSchema>) {
      const parsed = faultsSchema.parse(change);
      if (parsed.delayMs !== undefined) delayMs = parsed.delayMs;
      if (parsed.down !== undefined) down = parsed.down;
      if (parsed.fail !== undefined) {
        fail = parsed.fail ?? undefined;
        random = createRandom(fail?.seed ?? 1);
      }
    },

    current: () => ({ delayMs, down, fail }),

    /** HTTP status that a request with these methods fails with; undefined when it succeeds. */
    statusFor(methods: readonly string[]): number | undefined {
      if (fail === undefined) return undefined;
      const { methods: failing, rate, status } = fail;
      if (failing !== undefined && !methods.some((method) => failing.includes(method))) return undefined;
      return random.fraction() < rate ? status : undefined;
    },
  };
}
