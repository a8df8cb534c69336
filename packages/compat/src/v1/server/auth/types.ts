/** `@modelcontextprotocol/sdk/server/auth/types.js`: only types. */
export type { AuthInfo } from "../../../model/types.ts"
