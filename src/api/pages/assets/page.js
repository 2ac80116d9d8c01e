// Keeps the status page up to date and adds buttons that copy. Without this script every page can be read as it is.

const quickMs = 2_000;
const wholeMs = 10_000;

const main = document.querySelector("main");

function spanOf(seconds) {
  const units = [
    ["y", 31_557_600],
    ["d", 86_400],
    ["h", 3_600],
    ["min", 60],
    ["s", 1],
  ];
  let left = Math.max(0, Math.round(seconds));
  const place = units.findIndex(([, length]) => left >= length);
  if (place < 0) return "0 s";
  const parts = [];
  for (const [unit, length] of units.slice(place, place + 2)) {
    const whole = Math.floor(left / length);
    if (whole > 0) parts.push(`${whole.toLocaleString("en")} ${unit}`);
    left -= whole * length;
  }
  return parts.join(" ");
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

let lost;

function showContact(isThere) {
  if (isThere) {
    lost?.remove();
    lost = undefined;
  } else if (lost === undefined) {
    lost = document.createElement("p");
    lost.className = "problem";
    lost.setAttribute("role", "alert");
    const time = new Date().toISOString().slice(11, 19);
    lost.textContent = `The service has not responded since ${time} UTC. What follows is what it said last.`;
    main.querySelector("h1").after(lost);
  }
}

/** How far the index is behind. A chain's figures are of one moment: they change with the page. */
async function updateDistance() {
  const response = await fetch("/api/indexing-status");
  if (!response.ok) return;
  const { realtimeProjection } = await response.json();
  for (const element of main.querySelectorAll("[data-distance]"))
    setText(element, spanOf(realtimeProjection.worstCaseDistance));
}

/** Takes over each part of the page that has changed, but for the one that the keyboard is in. */
async function updatePage() {
  const response = await fetch("/", { headers: { accept: "text/html" } });
  if (!response.ok) return;
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
  document.title = fresh.title;
  const rest = (root) => [...root.querySelectorAll("main > :not(section, h1)")];
  if (
    rest(document)
      .map((one) => one.outerHTML)
      .join() !==
    rest(fresh)
      .map((one) => one.outerHTML)
      .join()
  ) {
    for (const one of rest(document)) one.remove();
    main.querySelector("h1").after(...rest(fresh));
  }
  for (const section of fresh.querySelectorAll("main > section")) {
    const shown = document.getElementById(section.id);
    if (shown === null) main.append(section);
    else if (shown.outerHTML !== section.outerHTML && !shown.contains(document.activeElement)) {
      const scrolled = [...shown.querySelectorAll(".scroll")].map(({ scrollLeft }) => scrollLeft);
      shown.replaceWith(section);
      for (const [place, element] of section.querySelectorAll(".scroll").entries()) {
        element.scrollLeft = scrolled[place] ?? 0;
      }
    }
  }
}

/** Calls `update` again and again while the page can be seen. */
function repeat(update, everyMs) {
  const run = async () => {
    if (!document.hidden) {
      await update().then(
        () => showContact(true),
        () => showContact(false),
      );
    }
    setTimeout(run, everyMs);
  };
  setTimeout(run, everyMs);
}

if (main.hasAttribute("data-live")) {
  repeat(updateDistance, quickMs);
  repeat(updatePage, wholeMs);
}

// Browsers offer the clipboard over HTTPS and on this machine only.
const canCopy = navigator.clipboard !== undefined;

for (const query of canCopy ? document.querySelectorAll("pre") : []) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    button.textContent = await navigator.clipboard.writeText(query.textContent).then(
      () => "Copied",
      () => "Not allowed by the browser",
    );
    setTimeout(() => {
      button.textContent = "Copy";
    }, 2_000);
  });
  query.after(button);
}
