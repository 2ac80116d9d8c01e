import { Parser } from "htmlparser2";

const svg = "http://www.w3.org/2000/svg";
const xlink = "http://www.w3.org/1999/xlink";

// Names by their lower case: HTML parsers, which take SVG too, ignore the case.
const listNames = (words: string) => new Map(words.split(" ").map((name) => [name.toLowerCase(), name]));

// Elements of SVG 2 and Filter Effects 1, without scripts, links, and what holds other languages.
const elements = listNames(
  "svg g defs symbol use switch view title desc path rect circle ellipse line polyline polygon text tspan textPath image style " +
    "linearGradient radialGradient stop pattern clipPath mask marker animate animateMotion animateTransform set mpath filter feBlend " +
    "feColorMatrix feComponentTransfer feComposite feConvolveMatrix feDiffuseLighting feDisplacementMap feDistantLight feDropShadow feFlood " +
    "feFuncA feFuncB feFuncG feFuncR feGaussianBlur feImage feMerge feMergeNode feMorphology feOffset fePointLight feSpecularLighting " +
    "feSpotLight feTile feTurbulence",
);
// HTML parsers take elements in `title` and `desc` for those of HTML.
const textOnly = new Set(["style", "title", "desc"]);
const maxDepth = 256;

// Those that may be animated: geometry, filters and presentation.
const drawing = listNames(
  "viewBox preserveAspectRatio x y width height rx ry cx cy r d points x1 y1 x2 y2 pathLength transform dx dy rotate textLength lengthAdjust " +
    "startOffset method spacing side path gradientUnits gradientTransform spreadMethod fx fy fr offset patternUnits patternContentUnits " +
    "patternTransform clipPathUnits maskUnits maskContentUnits markerUnits markerWidth markerHeight orient refX refY filterUnits " +
    "primitiveUnits in in2 result mode type values tableValues slope intercept amplitude exponent k1 k2 k3 k4 operator order kernelMatrix " +
    "divisor bias targetX targetY edgeMode preserveAlpha surfaceScale diffuseConstant kernelUnitLength specularConstant specularExponent " +
    "limitingConeAngle pointsAtX pointsAtY pointsAtZ azimuth elevation z scale xChannelSelector yChannelSelector stdDeviation radius " +
    "numOctaves seed stitchTiles baseFrequency alignment-baseline baseline-shift clip clip-path clip-rule color color-interpolation " +
    "color-interpolation-filters color-rendering cursor direction display dominant-baseline enable-background fill fill-opacity fill-rule " +
    "filter flood-color flood-opacity font font-family font-size font-size-adjust font-stretch font-style font-variant font-weight " +
    "image-rendering isolation kerning letter-spacing lighting-color marker marker-end marker-mid marker-start mask mask-type mix-blend-mode " +
    "opacity overflow paint-order pointer-events shape-rendering stop-color stop-opacity stroke stroke-dasharray stroke-dashoffset " +
    "stroke-linecap stroke-linejoin stroke-miterlimit stroke-opacity stroke-width text-anchor text-decoration text-rendering " +
    "transform-box transform-origin unicode-bidi vector-effect visibility white-space word-spacing writing-mode",
);
const attributes = new Map([
  ...drawing,
  ...listNames(
    "id class style lang xml:space href xlink:href media systemLanguage requiredExtensions attributeName attributeType begin dur end min max " +
      "restart repeatCount repeatDur calcMode keyTimes keySplines keyPoints from to by additive accumulate origin",
  ),
]);

const atRules = "(?:media|supports|keyframes|-webkit-keyframes|font-face|layer|charset)\\b";
// Functions of CSS and of `transform` that load nothing, and those of selectors. An empty name is a bracket alone.
const functions =
  "(?:url|rgba?|hsla?|hwb|(?:ok)?l(?:ab|ch)|color|color-mix|light-dark|var|calc|min|max|clamp|translate(?:[xyz]|3d)?|scale(?:[xyz]|3d)?|" +
  "rotate(?:[xyz]|3d)?|skew[xy]?|matrix(?:3d)?|perspective|blur|brightness|contrast|drop-shadow|grayscale|hue-rotate|invert|opacity|saturate|" +
  "sepia|(?:repeating-)?(?:linear|radial|conic)-gradient|cubic-bezier|steps|linear|inset|circle|ellipse|polygon|path|rect|format|local|not|" +
  "is|where|has|lang|nth-(?:last-)?(?:child|of-type))?\\(";
// Fragments, and images and fonts in the text itself.
const ownUrls = "\\s*[\"']?(?:#|data:(?:image|font|application\\/(?:x-)?font))";
const notXml = "[^\\t\\n\\r -\\ud7ff\\ue000-\\ufffd\\u{10000}-\\u{10ffff}]";

// CSS that may load a file, or hide by an escape that it does. What matches a name looks at each character once.
const unsafe = new RegExp(
  `\\\\|${notXml}|@(?!${atRules})|(?<![\\w-])(?!${functions})[\\w-]*\\(|url\\((?!${ownUrls})|javascript:`,
  "iu",
);

const escapes: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const toEscape = new RegExp(`[&<>"]|${notXml}`, "gu");

/** A text as XML has it, in content and in attributes, without the characters that XML cannot have. */
export const escapeXml = (text: string) => text.replace(toEscape, (character) => escapes[character] ?? "");

// Its name as it is written; undefined if it is left out.
function nameOfAttribute(
  element: string,
  given: string,
  value: string,
  prefixes: ReadonlyMap<string, string>,
) {
  const [prefix = "", local] = given.split(":");
  const name = attributes.get(local && prefixes.get(prefix) === xlink ? `xlink:${local}` : given);
  if (name === undefined || name.endsWith("href")) {
    const isImage = /^(fe)?image$/i.test(element) && /^\s*data:image\//i.test(value);
    return isImage || /^\s*#/.test(value) ? name : undefined;
  }
  const isSafe = name === "attributeName" ? drawing.get(value.toLowerCase()) === value : !unsafe.test(value);
  return isSafe ? name : undefined;
}

const maxExpanded = 1_000_000;

// A document whose own entities, as drawing programs write them, are replaced once: those that stand for other entities
// stay as they are.
function expandEntities(text: string): string {
  const start = text.indexOf("<!DOCTYPE");
  const open = text.indexOf("[", start);
  if (start < 0 || open < 0 || text.lastIndexOf(">", open) > start) return text;
  const end = text.indexOf(">", text.indexOf("]", open));
  const declared = text.slice(open, end).matchAll(/<!ENTITY\s+([\w.:-]+)\s+(["'])([^<"']*)\2\s*>/g);
  const entities = new Map([...declared].map(([, name, , value = ""]) => [name, value]));
  let left = maxExpanded;
  return text.slice(end + 1).replace(/&([\w.:-]+);/g, (reference, name) => {
    const value = entities.get(name) ?? reference;
    left -= value.length;
    if (left < 0) throw new Error("too many entities");
    return value;
  });
}

/**
 * An SVG document written anew with what only draws: no scripts, handlers, links, other languages, or files to load. It
 * is read as HTML parsers read SVG: namespaces may be missing, and elements not closed. Undefined if it does not begin
 * with `svg`, or has more than 256 levels.
 */
export function cleanSvg(text: string): string | undefined {
  const parts: string[] = [];
  const prefixes = new Map([["xlink", xlink]]);
  // Names of the open elements as they were written; undefined for those that are left out.
  const open: (string | undefined)[] = [];
  let [css, isEnded] = ["", false];
  const parser = new Parser(
    {
      onopentag(given, all) {
        if (isEnded) return;
        for (const name in all) if (name.startsWith("xmlns:")) prefixes.set(name.slice(6), all[name] ?? "");
        const [prefix = "", local] = given.toLowerCase().split(":");
        const found = elements.get(local === undefined ? prefix : prefixes.get(prefix) === svg ? local : "");
        const parent = open.at(-1);
        const isWritten = open.length === 0 || (parent !== undefined && !textOnly.has(parent));
        const element = isWritten ? found : undefined;
        if (open.length === maxDepth || (open.length === 0 && element !== "svg")) throw new Error("no image");
        const root = open.length === 0 ? ` xmlns="${svg}" xmlns:xlink="${xlink}"` : "";
        open.push(element);
        if (element === undefined) return;
        const written = new Map(
          Object.entries(all).map(([key, value]) => [nameOfAttribute(element, key, value, prefixes), value]),
        );
        written.delete(undefined);
        const list = [...written].map(([key, value]) => ` ${key}="${escapeXml(value)}"`);
        parts.push(`<${element}${root}${list.join("")}>`);
      },
      ontext(content) {
        const element = open.at(-1);
        if (element === "style") css += content;
        else if (element !== undefined) parts.push(escapeXml(content));
      },
      onclosetag() {
        if (isEnded) return;
        const element = open.pop();
        isEnded = open.length === 0;
        if (element === undefined) return;
        if (element === "style" && !unsafe.test(css)) parts.push(escapeXml(css));
        css = "";
        parts.push(`</${element}>`);
      },
    },
    { recognizeCDATA: true, recognizeSelfClosing: true },
  );
  try {
    parser.end(expandEntities(text));
  } catch {
    return undefined;
  }
  return isEnded ? parts.join("") : undefined;
}
