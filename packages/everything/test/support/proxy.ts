/** `effect-mcp proxy`, in a process of its own. */
import { fileURLToPath } from "node:url"
import { start } from "./http-server.ts"
import { serverFile } from "./official.ts"

const fileOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

const main = fileOf("../../../cli/src/main.ts")

/** What starts a proxy over stdio before the server at this URL. */
export const overStdio = (url: string): ReadonlyArray<string> => [main, "proxy", "--", url]

/** A proxy over HTTP before our reference server, which it starts as a process: one for each session. */
export const overHttp = start([main, "proxy", "--http", "--port", "0", "--", process.execPath, serverFile, "--stdio"])

/** The same before one that speaks only this revision: tasks of one generation on its side, of either on the other. */
export const overHttpTo = (revision: string) =>
  start([main, "proxy", "--http", "--port", "0", "--", process.execPath, serverFile, "--stdio", "--revision", revision])

/** The protocol's own reference server over Streamable HTTP. */
export const serverEverything = start([fileOf("../fixtures/server-everything-http.ts")])
