/** The program of the reference server that the protocol's own project publishes. */
import { fileURLToPath } from "node:url"

export const bin = fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js"))
