import { expect, test } from "vitest";
import { unlessMissing } from "./unless-missing.ts";

test("an update gives the row as it is then", async () => {
  expect(await unlessMissing(Promise.resolve({ id: "0x1" }))).toEqual({ id: "0x1" });
});

test("an update of a row that is not there gives nothing", async () => {
  const error = Object.assign(new Error("No existing record found"), { name: "RecordNotFoundError" });
  expect(await unlessMissing(Promise.reject(error))).toBeUndefined();
});

test("any other failure of the store goes on", async () => {
  await expect(unlessMissing(Promise.reject(new Error("connection lost")))).rejects.toThrow(
    "connection lost",
  );
});
