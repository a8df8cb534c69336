/** `@modelcontextprotocol/sdk/server/auth/types.js`: types alone. */
export type { AuthInfo } from "../../../model/types.ts"
