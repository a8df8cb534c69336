/** What `@modelcontextprotocol/express` has: an app that parses JSON and admits requests by its own names only. */
import express, { type Express } from "express"
import { appCheck, type AppNames, refused } from "./http/validation.ts"

export interface CreateMcpExpressAppOptions extends AppNames {
  /** The largest body, as `express.json` takes it. Default `100kb`. */
  jsonLimit?: string | undefined
}

/** An app of Express with `express.json()` that refuses requests to other names, and from pages of others, by 403. */
export const createMcpExpressApp = ({ jsonLimit, ...names }: CreateMcpExpressAppOptions = {}): Express => {
  const check = appCheck(names)
  const app = express()
  app.use((request, response, next) => {
    const { host, origin } = request.headers
    const why = check(request, { host, origin })
    if (why === undefined) next()
    else response.status(403).json(refused(why))
  })
  return app.use(express.json(jsonLimit === undefined ? undefined : { limit: jsonLimit }))
}
