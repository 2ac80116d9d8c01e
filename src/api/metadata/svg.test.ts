import { expect, test } from "vitest";
import { cleanSvg } from "./svg.ts";

const xmlns = 'xmlns="http://www.w3.org/2000/svg"';
const root = `${xmlns} xmlns:xlink="http://www.w3.org/1999/xlink"`;
const svg = (content: string, attributes = "") => `<svg ${xmlns}${attributes}>${content}</svg>`;
// Each element is written with its end.
const inSvg = (content: string) =>
  `<svg ${root}>${content.replaceAll(/<(\w+)([^<>]*)\/>/g, "<$1$2></$1>")}</svg>`;

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
  ["<set attributeName='onmouseover' to='alert(1)'/>", "<set/>"],
  ["<animate attributeName='xlink:href' values='javascript:alert(1)'/>", "<animate/>"],
  ["<style>@import 'https://evil.example/x.css';</style>", "<style></style>"],
  ["<style>&#64;im<![CDATA[port]]> 'https://evil.example/x.css';</style>", "<style></style>"],
  ["<style>@\\69mport 'https://evil.example/x.css';</style>", "<style></style>"],
  ["<style>g{background:url( 'https://evil.example/x')}</style>", "<style></style>"],
  ["<style>g{background:image-set('x.png' 1x)}</style>", "<style></style>"],
  ["<style><![CDATA[</style><script>alert(1)</script>]]></style>", "<style></style>"],
  [
    "<style><![CDATA[</style><script>a</script>]]></style>",
    "<style>&lt;/style&gt;&lt;script&gt;a&lt;/script&gt;</style>",
  ],
  ["<g style='fill:url(https://evil.example/x)' filter='url(//evil.example/#x)'/>", "<g/>"],
  [
    "<text><![CDATA[<script>alert(1)</script>]]></text>",
    "<text>&lt;script&gt;alert(1)&lt;/script&gt;</text>",
  ],
  ["<?xml-stylesheet href='https://evil.example/x.css'?><!-- <script> -->", ""],
  // Text after an element that is left out.
  ["<style><g/>@import url(https://evil.example/x.css);</style>", "<style></style>"],
  ["<style>g{}<b>@import</b>h{}</style>", "<style>g{}h{}</style>"],
  ["<style><style>g{}</style>@import 'https://evil.example/x.css'</style>", "<style></style>"],
  // HTML takes elements in titles for those of HTML, and `image` for `img`.
  [
    "<title>a<image src='https://evil.example/x' srcset='https://evil.example/x'/>b</title>",
    "<title>ab</title>",
  ],
  ["<desc><style>g{}</style></desc>", "<desc/>"],
  ["<image src='https://evil.example/x' srcset='https://evil.example/x' width='1'/>", '<image width="1"/>'],
  ["<set attributeName='href ' to='https://evil.example/x'/>", '<set to="https://evil.example/x"/>'],
  ["<set attributeName='&#10;href' to='#a'/>", '<set to="#a"/>'],
  ["<set attributeName='style' to='fill:red'/>", '<set to="fill:red"/>'],
  ["<set attributeName='mask' to='url(https://evil.example/x#a)'/>", '<set attributeName="mask"/>'],
  [
    "<animate attributeName='mask' values='url(#a);url(//evil.example/x#a)'/>",
    '<animate attributeName="mask"/>',
  ],
  ["<style>g{background:new-loader('https://evil.example/x')}</style>", "<style></style>"],
  ["<style>@new-rule 'https://evil.example/x';</style>", "<style></style>"],
  ["<style>g{mask:u&#1;rl(https://evil.example/x)}</style>", "<style></style>"],
  ["<rect new-attribute='https://evil.example/x' ping='https://evil.example/x' x='1'/>", '<rect x="1"/>'],
  ["<rect fill='url( &quot;https://evil.example/x&quot;)'/>", "<rect/>"],
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
  ["no document", ""],
  ["only a comment", "<!-- <svg/> -->"],
  ["another root", `<html ${xmlns}/>`],
  ["a page", "<html xmlns='http://www.w3.org/1999/xhtml'><svg/></html>"],
  ["a prefix of nothing", "<p:svg/>"],
  ["half a tag", "<svg"],
  ["a million levels", svg("<g>".repeat(1_000_000))],
  ["three hundred levels", svg(`${"<g>".repeat(300)}${"</g>".repeat(300)}`)],
])("no image: %s", (_, text) => {
  expect(cleanSvg(text)).toBeUndefined();
});

// What HTML parsers (HTML standard, 13.2.6.5) and drawing programs take, with what is drawn.
test.each([
  ["<svg/>", "", "without the namespace"],
  ["<svg><use xlink:href='#a'/></svg>", '<use xlink:href="#a"/>', "without that of links"],
  ["<svg><g><rect x=1>", '<g><rect x="1"/></g>', "not closed, without quotes"],
  ["<svg><g><rect/></svg>", "<g><rect/></g>", "one that ends too early"],
  ["<svg></b></rect><rect/></svg>", "<rect/>", "ends of nothing"],
  ["<svg><rect x='1' x='2'/></svg>", '<rect x="1"/>', "an attribute twice"],
  [
    "<svg xmlns:l='http://www.w3.org/1999/xlink'><use xlink:href='#a' l:href='#b'/></svg>",
    '<use xlink:href="#b"/>',
    "an attribute under two prefixes",
  ],
  ["<SVG><LINEARGRADIENT GradientUnits='a'/></SVG>", '<linearGradient gradientUnits="a"/>', "upper case"],
  ["<svg>a&nbsp;b & c &eacute;&#233;&unknown;</svg>", "a\u00a0b &amp; c éé&amp;unknown;", "entities of HTML"],
  ["<svg>a&#1;&#xffff;b</svg>", "ab", "characters that XML cannot have"],
  ["<svg><g/></svg><svg><rect/></svg>x", "<g/>", "two roots"],
  ["<svg><!-- -- --><g/></svg>", "<g/>", "a comment with hyphens"],
  ["<!DOCTYPE html><svg><p:g/><g/></svg>", "<g/>", "a doctype of HTML, a prefix of nothing"],
  [
    `<s:svg xmlns:s="http://www.w3.org/2000/svg"><s:style><![CDATA[a>b{}]]></s:style></s:svg>`,
    "<style>a&gt;b{}</style>",
    "a prefix",
  ],
  [
    '<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "" [ <!ENTITY ns_svg "http://www.w3.org/2000/svg">\n' +
      "<!ENTITY st0 'fill:#fff;'> <!ENTITY sp \"&#160;\"> ]>\n<svg xmlns='&ns_svg;'><g style='&st0;'>&sp;</g></svg>",
    '<g style="fill:#fff;">\u00a0</g>',
    "entities of its own",
  ],
])("%s is read as browsers read it: %s (%s)", (text, left) => {
  expect(cleanSvg(text)).toBe(inSvg(left));
});

test("entities that multiply are not expanded", () => {
  const levels = Array.from({ length: 9 }, (_, n) => `<!ENTITY l${n + 1} "${`&l${n};`.repeat(10)}">`);
  const doctype = `<!DOCTYPE svg [<!ENTITY l0 "lol">${levels.join("")}]>`;
  expect(cleanSvg(`${doctype}${svg("<text>&l9;</text>")}`)).toBe(
    inSvg(`<text>${"&amp;l8;".repeat(10)}</text>`),
  );
  const large = `<!DOCTYPE svg [<!ENTITY l "${"l".repeat(100_000)}">]>`;
  expect(cleanSvg(`${large}${svg("&l;".repeat(100_000))}`)).toBeUndefined();
  const external = '<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]>';
  expect(cleanSvg(`${external}${svg("<text>&x;</text>")}`)).toBe(inSvg("<text>&amp;x;</text>"));
});
