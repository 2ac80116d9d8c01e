import { expect } from "vitest";

/** Expects a response with one error alone, which shows a price above its limit and how to ask instead; returns the limit. */
export function expectRefusal(answer: unknown, unit: RegExp): number {
  const { errors } = answer as { errors: { message: string }[] };
  expect(answer).toEqual({ errors: [expect.objectContaining({ message: expect.any(String) })] });
  const shape = /^The query costs at least (\d+) (.+); the limit is (\d+)\. [A-Z][^.]+.*\.$/;
  const [, price, what, limit] = shape.exec(errors[0]!.message) ?? [];
  expect(what, errors[0]!.message).toMatch(unit);
  expect(Number(price)).toBeGreaterThan(Number(limit));
  return Number(limit);
}
