import type { Image } from "./media.ts";
import { escapeXml } from "./svg.ts";

const side = 270;
const margin = 32;
const maxCharacters = 40;

/**
 * The image of a name's token: an SVG document of 270 by 270 units with the name, over the name's avatar if it has one.
 */
export function card({ name, isNormalized }: { name: string; isNormalized: boolean }, avatar?: Image): Image {
  const characters = [...new Intl.Segmenter().segment(name.slice(0, 1_000))].map(({ segment }) => segment);
  const cut = characters.length > maxCharacters;
  const shown = cut ? [...characters.slice(0, maxCharacters - 8), "…", ...characters.slice(-7)] : characters;
  // Characters of bold fonts without serifs are about 0.6 of their height wide.
  const size = Math.max(8, Math.min(32, Math.floor((side - 2 * margin) / (shown.length * 0.6))));
  const colors = isNormalized ? ["#3d8ee8", "#7a6cf0"] : ["#d98a8a", "#962525"];
  const background = avatar
    ? `<image href="data:${avatar.type};base64,${avatar.bytes.toString("base64")}" width="${side}" height="${side}" preserveAspectRatio="xMidYMid slice"/><rect width="${side}" height="${side}" fill="#000" fill-opacity=".25"/>`
    : `<linearGradient id="g" x2="1" y2="1"><stop stop-color="${colors[0]}"/><stop offset="1" stop-color="${colors[1]}"/></linearGradient><rect width="${side}" height="${side}" fill="url(#g)"/>`;
  const text = `<text x="${margin}" y="${side - margin}" font-family="sans-serif" font-weight="bold" font-size="${size}" fill="#fff">${escapeXml(shown.join(""))}</text>`;
  const open = `<svg xmlns="http://www.w3.org/2000/svg" width="${side}" height="${side}" viewBox="0 0 ${side} ${side}">`;
  return { type: "image/svg+xml", bytes: Buffer.from(`${open}${background}${text}</svg>`) };
}
