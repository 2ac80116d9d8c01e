import { expect, test } from "vitest";
import { labelInMetadata } from "./threedns.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");

test.each<[string, string | undefined]>([
  [`data:application/json;base64,${base64('{"name":"jr.delv.box."}')}`, "jr"],
  [`data:application/json;_base64,${base64('{"name":"jr.delv.box."}')}`, "jr"],
  [`data:application/json;base64,${base64('{"name":"box."}')}`, "box"],
  [`data:application/json;base64,${base64('{"name":5}')}`, undefined],
  [`data:application/json;base64,${base64('["name"]')}`, undefined],
  [`data:application/json;base64,${base64("null")}`, undefined],
  ["data:application/json;base64,%%%", undefined],
  ["data:text/plain,jr", undefined],
  ["", undefined],
])("label in %j", (uri, label) => {
  expect(labelInMetadata(uri)).toBe(label);
});
