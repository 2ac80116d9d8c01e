// Swagger UI over the OpenAPI document, dark where the reader prefers that.

const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();

window.SwaggerUIBundle({
  dom_id: "#docs",
  url: "/openapi.json",
  deepLinking: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  validatorUrl: null,
});
