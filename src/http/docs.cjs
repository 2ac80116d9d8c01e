// Swagger UI over the OpenAPI document, dark where the reader prefers that.

const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();

// Opens the first operation and sends its request, so that the page shows an answer.
function runFirst() {
  const docs = document.querySelector("#docs[data-runs]");
  if (docs === null || location.hash !== "") return;
  docs.querySelector(".opblock-summary-control")?.click();
  setTimeout(() => docs.querySelector(".execute")?.click(), 500);
}

window.SwaggerUIBundle({
  dom_id: "#docs",
  url: "/openapi.json",
  deepLinking: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  validatorUrl: null,
  onComplete: runFirst,
});
