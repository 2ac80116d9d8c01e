import { type DecodedRecord, dnsName, ipfsGateway, malformed, unsupported } from "./record-schemas.ts";

// Text records of profiles: accounts at services, pictures, contacts (ENSIP-5, ENSIP-12, ENSIP-18).

/** `page`: how the URL of an account begins; `places`: how URLs do that people store instead of a handle. */
type AccountService = { page?: string; handle: RegExp; places: readonly string[] };

const github: AccountService = {
  page: "https://github.com/",
  // An account, or a repository of it.
  handle: /^[a-z\d](?:[a-z\d-]{0,38})(?:\/(?!\.{1,2}$)[\w.-]{1,100})?$/i,
  places: ["github.com"],
};
const twitter: AccountService = {
  page: "https://x.com/",
  handle: /^\w{1,15}$/,
  places: ["x.com", "twitter.com"],
};
const peepeth: AccountService = {
  page: "https://peepeth.com/",
  handle: /^\w{1,32}$/,
  places: ["peepeth.com"],
};
const farcaster: AccountService = {
  page: "https://farcaster.xyz/",
  handle: /^[a-z\d][a-z\d-]{0,15}(?:\.eth)?$/i,
  places: ["farcaster.xyz", "warpcast.com"],
};
const twitch: AccountService = {
  page: "https://www.twitch.tv/",
  handle: /^\w{4,25}$/,
  places: ["twitch.tv"],
};

// By service key (ENSIP-5, its former keys, ENSIP-18, and what applications write), with the services' own rules.
const services = new Map<string, AccountService>([
  ...(["com.github", "vnd.github"] as const).map((key) => [key, github] as const),
  ...(["com.x", "com.twitter", "vnd.twitter"] as const).map((key) => [key, twitter] as const),
  ...(["com.peepeth", "vnd.peepeth"] as const).map((key) => [key, peepeth] as const),
  ...(["xyz.farcaster", "com.warpcast"] as const).map((key) => [key, farcaster] as const),
  ...(["com.twitch", "tv.twitch"] as const).map((key) => [key, twitch] as const),
  ["org.telegram", { page: "https://t.me/", handle: /^\w{5,32}$/, places: ["t.me", "telegram.me"] }],
  // Accounts have pages by number only.
  ["com.discord", { handle: /^(?:[\w.]{2,32}|[^\s\p{C}@#:/]{2,32}#\d{4})$/u, places: [] }],
  [
    "com.reddit",
    {
      ...{ page: "https://www.reddit.com/user/", handle: /^[\w-]{3,20}$/ },
      places: ["reddit.com/user", "reddit.com/u"],
    },
  ],
  [
    "com.linkedin",
    { page: "https://www.linkedin.com/in/", handle: /^[\w-]{3,100}$/, places: ["linkedin.com/in"] },
  ],
  ["io.keybase", { page: "https://keybase.io/", handle: /^\w{2,16}$/, places: ["keybase.io"] }],
  [
    "com.instagram",
    { page: "https://www.instagram.com/", handle: /^[\w.]{1,30}$/, places: ["instagram.com"] },
  ],
  ["com.youtube", { page: "https://www.youtube.com/@", handle: /^[\w.-]{3,30}$/, places: ["youtube.com"] }],
  ["com.tiktok", { page: "https://www.tiktok.com/@", handle: /^[\w.]{2,24}$/, places: ["tiktok.com"] }],
  ["social.bsky", { page: "https://bsky.app/profile/", handle: dnsName, places: ["bsky.app/profile"] }],
]);

const maxHandle = 300;

// ENSIP-18: a handle without `@` or `/u/`, which readers drop. Of a URL the rest of the path.
function decodeHandle({ page, handle: form, places }: AccountService, text: string): DecodedRecord {
  if (text.length > maxHandle) return malformed;
  const isUrl = /^https?:\/\//i.test(text);
  const path = text
    .replace(/^https?:\/\//i, "")
    .replace(/^(?:www|mobile|m)\./i, "")
    .replace(/\/*(?:[?#].*)?$/s, "");
  const place = places.find((one) => path.toLowerCase().startsWith(`${one}/`));
  if (place === undefined && isUrl) return { reason: "host" };
  const rest = place === undefined ? text : path.slice(place.length + 1);
  const handle = rest.replace(/^(?:@|\/?u\/)/, "");
  if (!form.test(handle) || handle === "." || handle === "..") return malformed;
  return { handle, ...(page && { url: `${page}${handle}` }) };
}

function decodeUrl(text: string): DecodedRecord {
  const isUrl = /^https?:\/\/[^\s\p{C}]+$/iu.test(text) && URL.canParse(text);
  return isUrl ? { url: new URL(text).href } : malformed;
}

const cidPath = /^ipfs:\/\/(?:ipfs\/)?([a-z\d]{46,100}(?:\/(?!(?:\.|%2e){1,2}(?:\/|$))[\w.~%()-]+)*)\/?$/i;

// ENSIP-12. Its pictures of tokens need the owner, so that they have no URL here.
function decodeImage(text: string): DecodedRecord {
  if (/^data:image\//i.test(text)) return { kind: "data" };
  if (/^eip155:\d{1,19}\/erc(?:721|1155):0x[\da-f]{40}\/\d{1,78}$/i.test(text)) return { kind: "nft" };
  const path = cidPath.exec(text)?.[1];
  if (path !== undefined) return { kind: "ipfs", url: `${ipfsGateway}/ipfs/${path}` };
  if (!/^https:/i.test(text)) return unsupported;
  const { url } = decodeUrl(text);
  return url === undefined ? malformed : { kind: "https", url };
}

// The relative luminance of a color, and the contrast of two (WCAG 2).
function measureLuminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
const measureContrast = (...colors: [string, string]) => {
  const [dark = 0, light = 0] = colors.map(measureLuminance).sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
};

// ENSIP-18: up to five colors, some left out. A text that nobody can read on its background is not to be used; the
// example of the standard has an accent of less contrast.
function decodeTheme(text: string): DecodedRecord {
  if (!/^(?:[\da-f]{3}|[\da-f]{6}|)(?:,(?:[\da-f]{3}|[\da-f]{6}|)){0,4}$/i.test(text)) return malformed;
  const colors = text.split(",").map((color) => {
    const digits = color.length === 3 ? color.replaceAll(/./g, "$&$&") : color;
    return digits && `#${digits.toLowerCase()}`;
  });
  const [background, letters] = colors;
  if (background && letters && measureContrast(background, letters) < 4.5) return { reason: "contrast" };
  return { colors };
}

const maxWords = 50;
const isOf = (form: RegExp) => (text: string) => (form.test(text) ? { text } : malformed);

// By key of ENSIP-5 and ENSIP-18. Other keys of theirs are free texts.
const profile = new Map<string, (text: string, name: string) => DecodedRecord>([
  ["url", decodeUrl],
  ["avatar", decodeImage],
  ["header", decodeImage],
  [
    "email",
    (text) => {
      const [user = "", host = "", ...more] = text.split("@");
      const isMail = /^[\w.+-]{1,64}$/.test(user) && dnsName.test(host) && more.length === 0;
      return isMail ? { url: `mailto:${text}` } : malformed;
    },
  ],
  // E.164, as people group its digits.
  [
    "phone",
    (text) => {
      const digits = text.replaceAll(/[ ().-]/g, "");
      return /^\+[1-9]\d{1,14}$/.test(digits) ? { url: `tel:${digits}` } : malformed;
    },
  ],
  ["theme", decodeTheme],
  [
    "keywords",
    (text) => ({
      words: [...new Set(text.split(",").flatMap((word) => word.trim() || []))].slice(0, maxWords),
    }),
  ],
  // The form of names in the tz database, whose list changes.
  ["timezone", isOf(/^[A-Za-z][\w+-]{1,31}(?:\/[A-Za-z][\w+-]{1,31}){0,2}$/)],
  ["language", isOf(/^[a-z]{2}$/)],
  ["primary-contact", (text) => (text === "email" || services.has(text) ? { text } : unsupported)],
  // Clients ignore one that is another name when its case is folded.
  ["display", (text, name) => (text.toLowerCase() === name ? { text } : { reason: "mismatch" })],
]);

const maxText = 2_000;

/** A text record of a name, if a rule of ENSIP-5, ENSIP-12, ENSIP-18 or of a service covers its key. */
export function decodeText(name: string, key: string, value: string): DecodedRecord | undefined {
  const service = services.get(key);
  const ofProfile = profile.get(key);
  if (service === undefined && ofProfile === undefined) return undefined;
  // A picture may be in the record itself.
  const text = value.slice(0, maxText + 1).trim();
  if (text.length > maxText && !/^data:/i.test(text)) return malformed;
  return service ? decodeHandle(service, text) : ofProfile?.(text, name);
}
