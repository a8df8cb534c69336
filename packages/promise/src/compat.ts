/** Internals used by the package that mirrors the official SDK's API. */
export { Request } from "./handler/Request.ts"
export { objectPart, part, type Part, type Side } from "./schema/Standard.ts"
export { run } from "./handler/run.ts"
export { Changes } from "./server/changes.ts"
export { messageOf, toPublic, toWire } from "./ErrorTranslation.ts"
