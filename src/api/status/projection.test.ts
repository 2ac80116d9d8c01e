import { expect, test } from "vitest";
import { project } from "./projection.ts";

const snapshot = { snapshotTime: 1768400407, slowestChainIndexingCursor: 1768400395 };

test("measures from now to the cursor", () => {
  expect(project(snapshot, 1768400411)).toEqual({ projectedAt: 1768400411, worstCaseDistance: 16 });
});

test("is never made before the snapshot", () => {
  expect(project(snapshot, 1768400000)).toEqual({ projectedAt: 1768400407, worstCaseDistance: 12 });
});
