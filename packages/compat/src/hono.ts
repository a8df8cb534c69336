/** What `@modelcontextprotocol/hono` has: an app that admits requests by its own names only. */
import { Hono } from "hono"
import { admitted, refusal, refused } from "./http/validation.ts"

export interface CreateMcpHonoAppOptions {
  /** The address that the app will listen on. Default `127.0.0.1`: then names of loopback are admitted. */
  host?: string | undefined
  /** The names that are admitted. */
  allowedHosts?: Array<string> | undefined
}

/** An app of Hono that refuses requests to other names by 403. */
export const createMcpHonoApp = ({ allowedHosts, host = "127.0.0.1" }: CreateMcpHonoAppOptions = {}): Hono => {
  const app = new Hono()
  const names = admitted(host, allowedHosts)
  if (names === undefined) return app
  return app.use(async (context, next) => {
    const { req } = context
    const why = refusal(req.header("host"), req.header("origin"), names)
    if (why !== undefined) return context.json(refused(why), 403)
    await next()
    return undefined
  })
}
