// Keeps the status page up to date, suggests names, adds buttons that copy, and tells the bars of charts. Without this
// script every page can be read as it is.

const everyMs = 2_000;

const main = document.querySelector("main");

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

/** The title that a page has once its facts are known. */
function showTitle(root) {
  document.title = root.querySelector("h1")?.dataset.title ?? document.title;
}

/** Takes over each part of the page that has changed, but for the one that the keyboard is in; what is open stays open. */
async function updatePage() {
  const response = await fetch(location.pathname, { headers: { accept: "text/html" } });
  if (!response.ok) return;
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
  showTitle(fresh);
  for (const part of fresh.querySelectorAll("main > [id]")) {
    const shown = document.getElementById(part.id);
    addButtons(part);
    if (shown === null) main.append(part);
    else {
      const folds = shown.querySelectorAll("details");
      for (const [place, fold] of part.querySelectorAll("details").entries()) {
        fold.open = folds[place]?.open ?? false;
      }
      if (shown.outerHTML === part.outerHTML || shown.contains(document.activeElement)) continue;
      const scrolled = [...shown.querySelectorAll(".scroll")].map(({ scrollLeft }) => scrollLeft);
      shown.replaceWith(part);
      for (const [place, element] of part.querySelectorAll(".scroll").entries()) {
        element.scrollLeft = scrolled[place] ?? 0;
      }
    }
  }
}

/** Updates the page again and again while it can be seen. */
async function repeat() {
  if (!document.hidden) {
    await updatePage().then(
      () => showContact(true),
      () => showContact(false),
    );
  }
  setTimeout(repeat, everyMs);
}

showTitle(document);
if (main?.hasAttribute("data-live")) setTimeout(repeat, everyMs);

// The letter below a picture is shown where the picture fails.
for (const picture of document.querySelectorAll(".avatar img, img.banner"))
  picture.addEventListener("error", () => picture.remove());

// Browsers offer the clipboard over HTTPS and on this machine only.
const canCopy = navigator.clipboard !== undefined;

/** A button that copies a text. */
function copyButton(text, label) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = label;
  button.addEventListener("click", async () => {
    button.textContent = await navigator.clipboard.writeText(text).then(
      () => "Copied",
      () => "Not allowed by the browser",
    );
    button.classList.add("done");
    setTimeout(() => {
      button.textContent = label;
      button.classList.remove("done");
    }, 2_000);
  });
  return button;
}

/** Adds the buttons that copy hashes and addresses below an element. */
function addButtons(root) {
  if (!canCopy) return;
  for (const element of root.querySelectorAll("[data-copy]")) {
    const button = copyButton(element.dataset.copy, `Copy ${element.textContent}`);
    button.className = "copy";
    // Never at the begin of a line.
    element.after("\u2060", button);
  }
}

addButtons(document);

// --- Charts ---

for (const chart of document.querySelectorAll(".chart")) {
  const output = chart.querySelector("output");
  if (output === null) continue;
  const tell = ({ target }) => {
    output.textContent = target.closest("g")?.dataset.words ?? "";
  };
  chart.addEventListener("pointermove", tell);
  chart.addEventListener("pointerleave", () => {
    output.textContent = "";
  });
}

// --- Suggestions ---

const box = document.getElementById("name");
const list = document.createElement("div");
let wait;

const options = () => [...list.children];
const chosen = () => list.querySelector('[aria-selected="true"]');

function choose(option) {
  chosen()?.setAttribute("aria-selected", "false");
  option?.setAttribute("aria-selected", "true");
  box.setAttribute("aria-activedescendant", option?.id ?? "");
}

function showSuggestions(isShown) {
  list.hidden = !isShown;
  box.setAttribute("aria-expanded", String(isShown));
  if (!isShown) choose(undefined);
}

/** Suggests names that begin with what is typed, or are nearest to it. */
async function suggest() {
  const typed = box.value.trim();
  const response = await fetch(`/suggest?${new URLSearchParams({ q: typed })}`).catch(() => undefined);
  if (box.value.trim() !== typed) return;
  list.innerHTML = response?.ok ? await response.text() : "";
  showSuggestions(list.children.length > 0);
}

function moveChoice(event) {
  const all = options();
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === "Escape") showSuggestions(false);
  if (event.key === "Enter") {
    // A name in full is what it says; anything else means the best match.
    const typed = box.value.trim().toLowerCase();
    const best = chosen() ?? (/[.]|^0x/.test(typed) ? undefined : all[0]);
    if (list.hidden || best === undefined) return;
    event.preventDefault();
    location.assign(best.href);
  }
  if (step === undefined || all.length === 0) return;
  event.preventDefault();
  showSuggestions(true);
  const at = all.indexOf(chosen()) + step;
  choose(all[(at + all.length) % all.length]);
}

if (box !== null) {
  list.id = "suggestions";
  list.className = "suggestions";
  list.hidden = true;
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Names");
  box.form.append(list);
  for (const [name, value] of [
    ["role", "combobox"],
    ["aria-autocomplete", "list"],
    ["aria-controls", list.id],
    ["aria-expanded", "false"],
  ])
    box.setAttribute(name, value);
  box.addEventListener("input", () => {
    clearTimeout(wait);
    wait = setTimeout(suggest, 120);
  });
  box.addEventListener("keydown", moveChoice);
  box.addEventListener("blur", () => setTimeout(showSuggestions, 150, false));
}

// --- The editor of queries ---

/** Runs the query that the editor of queries opens with, once the editor is there. */
function runFirst(triesLeft) {
  const button = document.querySelector(".graphiql-execute-button");
  if (button !== null) button.click();
  else if (triesLeft > 0) setTimeout(runFirst, 200, triesLeft - 1);
}

// A query in the address may be of any length, and is of somebody else.
if (document.getElementById("root") !== null && location.search === "") runFirst(50);
