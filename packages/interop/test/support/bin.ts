/** The program of the reference server published by the protocol's project. */
import { fileURLToPath } from "node:url"

export const bin = fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js"))
