import fc from "fast-check";
import { expect, test } from "vitest";
import { createRandom } from "./random.ts";

test("equal seeds give equal numbers, whole numbers stay below their limit, picks come from the list", () => {
  fc.assert(
    fc.property(fc.integer(), fc.integer({ min: 1, max: 1000 }), (seed, limit) => {
      const [one, other] = [createRandom(seed), createRandom(seed)];
      for (let draw = 0; draw < 20; draw++) {
        const number = one.below(limit);
        expect(other.below(limit)).toBe(number);
        expect(Number.isInteger(number) && number >= 0 && number < limit).toBe(true);
      }
      expect(["a", "b"]).toContain(one.pick(["a", "b"]));
      expect(one.hexDigits(limit % 40)).toMatch(new RegExp(`^[0-9a-f]{${(limit % 40) * 2}}$`));
    }),
  );
});

test("numbers are spread evenly", () => {
  const random = createRandom(5);
  const counts = [0, 0, 0, 0];
  for (let draw = 0; draw < 4000; draw++) counts[random.below(4)]! += 1;
  for (const count of counts) expect(Math.abs(count - 1000)).toBeLessThan(150);
});
