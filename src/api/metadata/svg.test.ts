import { expect, test } from "vitest";
import { cleanSvg } from "./svg.ts";

const xmlns = 'xmlns="http://www.w3.org/2000/svg"';
const root = `${xmlns} xmlns:xlink="http://www.w3.org/1999/xlink"`;
const svg = (content: string, attributes = "") => `<svg ${xmlns}${attributes}>${content}</svg>`;
const inSvg = (content: string) => `<svg ${root}>${content}</svg>`;

// Known ways to run a script or to load a file from an SVG document, with what is left of each.
test.each([
  ["<script>alert(1)</script>", ""],
  ["<script href='https://evil.example/x.js'/>", ""],
  ["<s:script xmlns:s='http://www.w3.org/2000/svg'>alert(1)</s:script>", ""],
  ["<h:script xmlns:h='http://www.w3.org/1999/xhtml'>alert(1)</h:script>", ""],
  [
    "<foreignObject><body xmlns='http://www.w3.org/1999/xhtml' onload='alert(1)'><iframe src='javascript:alert(1)'/></body></foreignObject>",
    "",
  ],
  ["<g><foreignObject/><g onclick='alert(1)' ONLOAD='alert(1)'/></g>", "<g><g/></g>"],
  ["<a href='javascript:alert(1)'><rect/></a>", ""],
  ["<use href='https://evil.example/#x'/>", "<use/>"],
  ["<use xmlns:l='http://www.w3.org/1999/xlink' l:href='data:image/svg+xml;base64,PHN2Zy8+#x'/>", "<use/>"],
  ["<image href='https://evil.example/pixel.png'/>", "<image/>"],
  ["<feImage href='//evil.example/pixel.png'/>", "<feImage/>"],
  ["<set attributeName='onmouseover' to='alert(1)'/>", '<set to="alert(1)"/>'],
  ["<animate attributeName='xlink:href' values='javascript:alert(1)'/>", "<animate/>"],
  ["<style>@import 'https://evil.example/x.css';</style>", "<style></style>"],
  ["<style>&#64;im<![CDATA[port]]> 'https://evil.example/x.css';</style>", "<style></style>"],
  ["<style>@\\69mport 'https://evil.example/x.css';</style>", "<style></style>"],
  ["<style>g{background:url( 'https://evil.example/x')}</style>", "<style></style>"],
  ["<style>g{background:image-set('x.png' 1x)}</style>", "<style></style>"],
  [
    "<style><![CDATA[</style><script>alert(1)</script>]]></style>",
    "<style>&lt;/style&gt;&lt;script&gt;alert(1)&lt;/script&gt;</style>",
  ],
  ["<g style='fill:url(https://evil.example/x)' filter='url(//evil.example/#x)'/>", "<g/>"],
  [
    "<text><![CDATA[<script>alert(1)</script>]]></text>",
    "<text>&lt;script&gt;alert(1)&lt;/script&gt;</text>",
  ],
  ["<?xml-stylesheet href='https://evil.example/x.css'?><!-- <script> -->", ""],
])("nothing runs, and nothing is loaded: %s", (content, left) => {
  expect(cleanSvg(svg(content))).toBe(inSvg(left));
});

test("handlers and a foreign base of the root are left out", () => {
  const given = svg("", " onload='alert(1)' xml:base='https://evil.example/' viewBox='0 0 1 1'");
  expect(cleanSvg(given)).toBe(`<svg ${root} viewBox="0 0 1 1"></svg>`);
});

test("what draws stays: gradients, styles, embedded images, references, texts", () => {
  const drawing =
    '<defs><linearGradient id="a" gradientUnits="userSpaceOnUse"><stop stop-color="#fff"/></linearGradient></defs>' +
    "<style>.b{fill:url(#a);font:14px serif}</style>" +
    '<rect class="b" fill="url(#a)" style="opacity:.5"/><use xlink:href="#a"/><use href="#a"/>' +
    '<image href="data:image/png;base64,iVBORw0KGgo="/>' +
    '<text x="1">a &amp; b &lt;c&gt; é😀</text><animate attributeName="opacity" values="0;1"/>';
  const given = `<?xml version="1.0"?><svg ${root}>${drawing}</svg>`;
  expect(cleanSvg(given)).toBe(inSvg(drawing));
  expect(cleanSvg(inSvg(drawing))).toBe(inSvg(drawing));
});

test.each([
  ["", "no document"],
  ["<svg>", "without the namespace, not closed"],
  ["<svg/>", "without the namespace"],
  [`<html ${xmlns}/>`, "another root"],
  ["<html xmlns='http://www.w3.org/1999/xhtml'><svg/></html>", "a page"],
  [svg("<g>"), "an element that is not closed"],
  [`${svg("")}${svg("")}`, "two roots"],
  [svg("&nbsp;"), "an entity of HTML"],
  [svg("<p:g/>"), "a prefix of nothing"],
  [svg("<g>".repeat(1_000_000)), "a million levels"],
  [svg(`${"<g>".repeat(300)}${"</g>".repeat(300)}`), "three hundred levels"],
])("%s is no image: %s", (text) => {
  expect(cleanSvg(text)).toBeUndefined();
});

test("entities that multiply are not expanded", () => {
  const levels = Array.from({ length: 9 }, (_, n) => `<!ENTITY l${n + 1} "${`&l${n};`.repeat(10)}">`);
  const doctype = `<!DOCTYPE svg [<!ENTITY l0 "lol">${levels.join("")}]>`;
  expect(cleanSvg(`${doctype}${svg("<text>&l9;</text>")}`)).toBeUndefined();
  const external = '<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]>';
  expect(cleanSvg(`${external}${svg("<text>&x;</text>")}`)).toBeUndefined();
  expect(cleanSvg(`${external}${svg("")}`)).toBe(inSvg(""));
});
