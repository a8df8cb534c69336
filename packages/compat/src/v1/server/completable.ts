/** `@modelcontextprotocol/sdk/server/completable.js`. */
export { completable, type CompleteCallback } from "../../schema/completable.ts"
