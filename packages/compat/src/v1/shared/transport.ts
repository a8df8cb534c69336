/** `@modelcontextprotocol/sdk/shared/transport.js`: only types. */
export type { Transport } from "../../server/Transport.ts"
export type FetchLike = (url: string | URL, init?: RequestInit) => Promise<Response>
