// Ponder loads the API from here.
export { default } from "../service/index.ts";
