import { type SaxesAttributeNS, SaxesParser } from "saxes";

const svg = "http://www.w3.org/2000/svg";
const xlink = "http://www.w3.org/1999/xlink";

// Elements of SVG 2 and Filter Effects 1, without scripts, links, and what holds other languages.
const elements = new Set(
  (
    "svg g defs symbol use switch view title desc path rect circle ellipse line polyline polygon text tspan textPath image style " +
    "linearGradient radialGradient stop pattern clipPath mask marker animate animateMotion animateTransform set mpath filter feBlend " +
    "feColorMatrix feComponentTransfer feComposite feConvolveMatrix feDiffuseLighting feDisplacementMap feDistantLight feDropShadow feFlood " +
    "feFuncA feFuncB feFuncG feFuncR feGaussianBlur feImage feMerge feMergeNode feMorphology feOffset fePointLight feSpecularLighting " +
    "feSpotLight feTile feTurbulence"
  ).split(" "),
);
const mostDepth = 256;

// CSS that loads files, or hides by an escape that it does. Fragments, and images and fonts in the text itself, may be used.
const loads =
  /\\|@import|javascript:|\b(?:image|image-set|src)\(|url\(\s*["']?(?!\s*["']?(?:#|data:(?:image|font|application\/(?:x-)?font)))/i;

const escapes: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** A text as XML has it, in content and in attributes. */
export const escapeXml = (text: string) => text.replace(/[&<>"]/g, (character) => escapes[character] ?? "");

function isSafe(element: string, { local, prefix, uri, value }: SaxesAttributeNS): boolean {
  if (local === "href" && (prefix === "" || uri === xlink))
    return /^\s*#/.test(value) || (/^(fe)?image$/i.test(element) && /^\s*data:image\//i.test(value));
  if (prefix !== "" || local === "xmlns" || /^on/i.test(local)) return false;
  return local === "attributeName" ? !/href$|^on/i.test(value) : !loads.test(value);
}

/**
 * An SVG document written anew with what only draws: no scripts, handlers, links, other languages, or files to load. Undefined if the text
 * is no well-formed SVG document, or has more than 256 levels. Entities of a document type are not expanded.
 */
export function cleanSvg(text: string): string | undefined {
  const parser = new SaxesParser({ xmlns: true });
  const parts: string[] = [];
  let [depth, skippedFrom, style] = [0, Number.POSITIVE_INFINITY, undefined as string | undefined];
  parser.on("opentag", ({ local, uri, attributes, isSelfClosing }) => {
    depth += 1;
    if (depth > mostDepth || (depth === 1 && (local !== "svg" || uri !== svg))) throw new Error("no image");
    if (uri !== svg || !elements.has(local)) skippedFrom = Math.min(skippedFrom, depth);
    if (skippedFrom <= depth) return;
    const kept = Object.values(attributes).filter((attribute) => isSafe(local, attribute));
    const written = kept.map((one) => ` ${one.prefix && "xlink:"}${one.local}="${escapeXml(one.value)}"`);
    const root = depth === 1 ? ` xmlns="${svg}" xmlns:xlink="${xlink}"` : "";
    parts.push(`<${local}${root}${written.join("")}${isSelfClosing ? "/" : ""}>`);
    if (local === "style" && !isSelfClosing) style = "";
  });
  parser.on("closetag", ({ local, isSelfClosing }) => {
    if (skippedFrom > depth) {
      if (style !== undefined && !loads.test(style)) parts.push(escapeXml(style));
      style = undefined;
      if (!isSelfClosing) parts.push(`</${local}>`);
    }
    if (skippedFrom === depth) skippedFrom = Number.POSITIVE_INFINITY;
    depth -= 1;
  });
  const write = (content: string) => {
    if (skippedFrom <= depth || depth === 0) return;
    if (style === undefined) parts.push(escapeXml(content));
    else style += content;
  };
  parser.on("text", write);
  parser.on("cdata", write);
  try {
    parser.write(text).close();
  } catch {
    return undefined;
  }
  return parts.join("");
}
