// Keeps the status page up to date, suggests names and adds buttons that copy. Without this script every page can be read as it is.

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
  const response = await fetch("/?update", { headers: { accept: "text/html" } });
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

/** Adds the buttons that copy queries, hashes and addresses below an element. */
function addButtons(root) {
  if (!canCopy) return;
  for (const query of root.querySelectorAll("pre")) query.after(copyButton(query.textContent, "Copy"));
  for (const element of root.querySelectorAll("[data-copy]")) {
    const button = copyButton(element.dataset.copy, `Copy ${element.textContent}`);
    button.className = "copy";
    // Never at the begin of a line.
    element.after("\u2060", button);
  }
}

addButtons(document);

const box = document.getElementById("name");
const list = document.getElementById("suggestions");
let wait;

/** Suggests names that begin with what is typed, or are nearest to it. */
async function suggest() {
  const typed = box.value.trim();
  if (typed.length < 2 || /^0x/i.test(typed)) return list.replaceChildren();
  const query = new URLSearchParams({ q: typed, page_size: "8" });
  if (!typed.includes(".")) query.set("sort", "relevance");
  const response = await fetch(`/v1/search?${query}`).catch(() => undefined);
  if (!response?.ok || box.value.trim() !== typed) return;
  const { data } = await response.json();
  list.replaceChildren(
    ...data.map(({ name }) => {
      const option = document.createElement("option");
      option.value = name;
      return option;
    }),
  );
}

box?.addEventListener("input", () => {
  clearTimeout(wait);
  wait = setTimeout(suggest, 150);
});

/** Runs the query that the editor of queries opens with, once the editor is there. */
function runFirst(triesLeft) {
  const button = document.querySelector(".graphiql-execute-button");
  if (button !== null) button.click();
  else if (triesLeft > 0) setTimeout(runFirst, 200, triesLeft - 1);
}

// A query in the address may be of any length, and is of somebody else.
if (document.getElementById("root") !== null && location.search === "") runFirst(50);
