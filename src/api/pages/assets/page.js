// Keeps the status page up to date and adds buttons that copy. Without this script every page can be read as it is.

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

/** Takes over each part of the page that has changed, but for the one that the keyboard is in. */
async function updatePage() {
  const response = await fetch("/", { headers: { accept: "text/html" } });
  if (!response.ok) return;
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
  document.title = fresh.title;
  for (const part of fresh.querySelectorAll("main > [id]")) {
    const shown = document.getElementById(part.id);
    if (shown === null) main.append(part);
    else if (shown.outerHTML !== part.outerHTML && !shown.contains(document.activeElement)) {
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

if (main.hasAttribute("data-live")) setTimeout(repeat, everyMs);

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
