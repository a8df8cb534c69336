/** `effect-mcp proxy` in a separate process. */
import { fileURLToPath } from "node:url"
import { start } from "./http-server.ts"
import { serverFile } from "./official.ts"

const fileOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

const main = fileOf("../../../cli/src/main.ts")

/** The command for a proxy over stdio in front of the server at this URL. */
export const overStdio = (url: string): ReadonlyArray<string> => [main, "proxy", "--", url]

/** A proxy over HTTP in front of our reference server, which it starts as a process for each session. */
export const overHttp = start([main, "proxy", "--http", "--port", "0", "--", process.execPath, serverFile, "--stdio"])

/** The same for a server that only speaks this revision: tasks of one generation behind, of either in front. */
export const overHttpTo = (revision: string) =>
  start([main, "proxy", "--http", "--port", "0", "--", process.execPath, serverFile, "--stdio", "--revision", revision])

/** The protocol's own reference server over Streamable HTTP. */
export const serverEverything = start([fileOf("../fixtures/server-everything-http.ts")])
