import { describe, expect, test } from "vitest";
import { type ChainFacts, chainSnapshot } from "./chain.ts";

const upTo = (second: number) => ({ before: second, through: second });
const at = (number: number) => ({ timestamp: 1_000_000 + number * 10, number });

const indefinite: ChainFacts = { chainId: 1, startBlock: at(100), sync: "backfill" };
const definite: ChainFacts = { chainId: 1, startBlock: at(100), endBlock: at(200), sync: "backfill" };

describe("a chain without an end", () => {
  const config = { configType: "indefinite", startBlock: { timestamp: 1_001_000, number: 100 } };

  test("is queued before its first block", () => {
    expect(chainSnapshot(indefinite, undefined)).toEqual({ chainStatus: "chain-queued", config });
  });

  test("is queued while the indexed block lies before its start", () => {
    expect(chainSnapshot({ ...indefinite, latestIndexedBlock: at(99) }, upTo(1_000_999))).toEqual({
      chainStatus: "chain-queued",
      config,
    });
  });

  test("stands at its start once the other chains have passed it", () => {
    expect(chainSnapshot({ ...indefinite, backfillEndBlock: at(150) }, upTo(1_001_000))).toEqual({
      chainStatus: "chain-backfill",
      config,
      latestIndexedBlock: { timestamp: 1_001_000, number: 100 },
      backfillEndBlock: { timestamp: 1_001_500, number: 150 },
    });
  });

  test("is in backfill from the moment its start block is indexed", () => {
    expect(
      chainSnapshot(
        { ...indefinite, latestIndexedBlock: at(100), backfillEndBlock: at(150) },
        upTo(1_001_000),
      ),
    ).toEqual({
      chainStatus: "chain-backfill",
      config,
      latestIndexedBlock: { timestamp: 1_001_000, number: 100 },
      backfillEndBlock: { timestamp: 1_001_500, number: 150 },
    });
  });

  test("stays in backfill at its target until it goes live", () => {
    const facts = { ...indefinite, latestIndexedBlock: at(150), backfillEndBlock: at(150) };
    expect(chainSnapshot(facts, upTo(1_001_500)).chainStatus).toBe("chain-backfill");
    expect(chainSnapshot({ ...facts, sync: "live" }, upTo(1_001_500)).chainStatus).toBe("chain-following");
  });

  test("shows a target that is never behind the indexed block", () => {
    expect(
      chainSnapshot({ ...indefinite, latestIndexedBlock: at(160), backfillEndBlock: at(150) }, undefined),
    ).toMatchObject({ backfillEndBlock: { timestamp: 1_001_600, number: 160 } });
  });

  test("shows a head that is never behind the indexed block", () => {
    const facts: ChainFacts = { ...indefinite, latestIndexedBlock: at(160), sync: "live" };
    expect(chainSnapshot({ ...facts, latestKnownBlock: at(155) }, undefined)).toEqual({
      chainStatus: "chain-following",
      config,
      latestIndexedBlock: { timestamp: 1_001_600, number: 160 },
      latestKnownBlock: { timestamp: 1_001_600, number: 160 },
    });
  });

  test("compares blocks of the same second by number", () => {
    const facts: ChainFacts = {
      ...indefinite,
      latestIndexedBlock: { timestamp: 1_001_600, number: 160 },
      latestKnownBlock: { timestamp: 1_001_600, number: 163 },
      sync: "live",
    };
    expect(chainSnapshot(facts, undefined)).toMatchObject({
      latestKnownBlock: { timestamp: 1_001_600, number: 163 },
    });
  });
});

describe("a chain with an end", () => {
  const config = {
    configType: "definite",
    startBlock: { timestamp: 1_001_000, number: 100 },
    endBlock: { timestamp: 1_002_000, number: 200 },
  };

  test("has its end as the target of the backfill", () => {
    expect(
      chainSnapshot({ ...definite, latestIndexedBlock: at(120), backfillEndBlock: at(150) }, undefined),
    ).toEqual({
      chainStatus: "chain-backfill",
      config,
      latestIndexedBlock: { timestamp: 1_001_200, number: 120 },
      backfillEndBlock: { timestamp: 1_002_000, number: 200 },
    });
  });

  test("is not completed while its sync is done but its events wait for other chains", () => {
    expect(
      chainSnapshot({ ...definite, latestIndexedBlock: at(120), sync: "complete" }, upTo(1_002_000)),
    ).toMatchObject({ chainStatus: "chain-backfill", latestIndexedBlock: { number: 120 } });
  });

  test("is completed at its end, also if the last blocks held no event", () => {
    expect(
      chainSnapshot({ ...definite, latestIndexedBlock: at(120), sync: "complete" }, upTo(1_002_001)),
    ).toEqual({
      chainStatus: "chain-completed",
      config,
      latestIndexedBlock: { timestamp: 1_002_000, number: 200 },
    });
  });

  test("is completed by a live block at or past its end, and shows the end", () => {
    expect(
      chainSnapshot({ ...definite, latestIndexedBlock: at(203), sync: "live" }, undefined),
    ).toMatchObject({ chainStatus: "chain-completed", latestIndexedBlock: { number: 200 } });
  });

  test("is never following", () => {
    expect(
      chainSnapshot({ ...definite, latestIndexedBlock: at(150), sync: "live" }, upTo(1_001_500)).chainStatus,
    ).toBe("chain-backfill");
  });

  test("waits for its own end block when another chain stands at the same second", () => {
    const facts: ChainFacts = { ...definite, latestIndexedBlock: at(150), sync: "live" };
    expect(chainSnapshot(facts, upTo(1_002_000)).chainStatus).toBe("chain-backfill");
    expect(chainSnapshot(facts, upTo(1_002_001)).chainStatus).toBe("chain-completed");
  });
});
