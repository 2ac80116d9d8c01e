// `npm run test:long` plays more of what `npm test` plays once. A failing title names the seed: TEST_FIRST_SEED resumes
// there.
const count = Number(process.env["TEST_SEEDS"] ?? 1);
const first = Number(process.env["TEST_FIRST_SEED"] ?? 1);

/** Seeds of the random histories that a test plays: one, or TEST_SEEDS of them, from TEST_FIRST_SEED on. */
export const seeds = Array.from({ length: count }, (_, at) => first + at);

/** Those of the modes that a test runs in: the first alone, or all where several seeds are played. */
export const modesOf = <Mode>(modes: readonly Mode[]): readonly Mode[] =>
  count > 1 ? modes : modes.slice(0, 1);

/** Those that run only where several seeds are played. */
export const inLongRuns = <One>(all: readonly One[]): readonly One[] => (count > 1 ? all : []);

/** Every so manieth of them, or all where several seeds are played. */
export const sampled = <One>(all: readonly One[], every: number): readonly One[] =>
  count > 1 ? all : all.filter((_, at) => (at + 1) % every === 0);
