import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type LabelsVersion, watchLabelsVersion } from "./labels-version.ts";

describe("the versions of the label source", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  function watch(answers: (LabelsVersion | Error)[]) {
    const logged: string[] = [];
    let asked = 0;
    const source = watchLabelsVersion({
      describe: async () => {
        const answer = answers[Math.min(asked, answers.length - 1)];
        asked += 1;
        if (answer === undefined || answer instanceof Error) throw answer;
        return answer;
      },
      expectedSchemaVersion: 3,
      log: (_, message) => logged.push(message),
    });
    return { source, logged, asked: () => asked };
  }

  test("are unknown, with the schema this program is written for, until the source responds", async () => {
    const { source } = watch([{ version: "1.5.1", schemaVersion: 4 }]);
    expect(source.current()).toEqual({ version: "unknown", schemaVersion: 3 });
    await vi.advanceTimersByTimeAsync(0);
    expect(source.current()).toEqual({ version: "1.5.1", schemaVersion: 4 });
    source.stop();
  });

  test("keeps the last response while the source is down, and logs it once", async () => {
    const { source, logged, asked } = watch([
      { version: "1.5.1", schemaVersion: 3 },
      new Error("down"),
      new Error("down"),
      { version: "1.6.0", schemaVersion: 3 },
    ]);
    await vi.advanceTimersByTimeAsync(66_000);
    expect(source.current().version).toBe("1.5.1");
    expect(asked()).toBe(3);
    expect(logged).toEqual(["The label source does not report its version: Error: down"]);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(source.current().version).toBe("1.6.0");
    source.stop();
  });

  test("asks a source that is down every five seconds", async () => {
    const { source, asked } = watch([new Error("down")]);
    await vi.advanceTimersByTimeAsync(14_000);
    expect(asked()).toBe(3);
    source.stop();
  });

  test("sends no requests once stopped", async () => {
    const { source, asked } = watch([{ version: "1.5.1", schemaVersion: 3 }]);
    await vi.advanceTimersByTimeAsync(0);
    source.stop();
    await vi.advanceTimersByTimeAsync(600_000);
    expect(asked()).toBe(1);
  });

  test("reports versions and what the source holds, whatever else it returns", async () => {
    const facts = { version: "1.5.1", schemaVersion: 3, highestLabelSetVersion: 2, recordsCount: 5 };
    const { source } = watch([{ ...facts, path: "/data/labels.sqlite" } as LabelsVersion]);
    await vi.advanceTimersByTimeAsync(0);
    expect(source.current()).toEqual(facts);
    source.stop();
  });
});
