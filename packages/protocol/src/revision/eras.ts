/** Parts of individual revisions, for a client that supports only some of them. */
export * as stateful from "./stateful.ts"
export { versions } from "./stateful.ts"
export { declaration, earlyNotifications, inputRequired, revision } from "./v2026_07_28.ts"
