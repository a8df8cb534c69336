/** What `@modelcontextprotocol/express` has: an app that parses JSON and admits requests by its own names only. */
import express, { type Express } from "express"
import { admitted, refusal, refused } from "./http/validation.ts"

export interface CreateMcpExpressAppOptions {
  /** The address that the app will listen on. Default `127.0.0.1`: then names of loopback are admitted. */
  host?: string | undefined
  /** The names that are admitted. */
  allowedHosts?: Array<string> | undefined
}

/** An app of Express with `express.json()` that refuses requests to other names by 403. */
export const createMcpExpressApp = ({ allowedHosts, host = "127.0.0.1" }: CreateMcpExpressAppOptions = {}): Express => {
  const app = express()
  const names = admitted(host, allowedHosts)
  if (names !== undefined) {
    app.use((request, response, next) => {
      const why = refusal(request.headers.host, request.headers.origin, names)
      if (why === undefined) next()
      else response.status(403).json(refused(why))
    })
  }
  return app.use(express.json())
}
