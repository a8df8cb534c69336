/** Answers HTTP requests before their message is read: unknown hosts and origins, CORS, and a server that has not begun. */
export * as DnsRebinding from "./DnsRebinding.ts"
export { check } from "./DnsRebinding.ts"
export * as Cors from "./Cors.ts"
export { notBegun } from "../../internal/notBegun.ts"
