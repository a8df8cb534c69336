/** What `@modelcontextprotocol/hono` has: an app that parses JSON and admits requests by its own names only. */
import { type Context, Hono } from "hono"
import { appCheck, type AppNames, refused } from "./http/validation.ts"

export interface CreateMcpHonoAppOptions extends AppNames {}

const maxBytes = 4 * 1024 * 1024

const isJson = (type: string | undefined): boolean => /^\s*application\/json\s*(;|$)/i.test(type ?? "")

/** A copy of the body; undefined for a larger one, which the endpoint refuses. */
const textOf = async (request: Request): Promise<string | undefined> => {
  const chunks: Array<Uint8Array> = []
  let size = 0
  for await (const chunk of request.clone().body ?? []) {
    size += chunk.length
    if (size > maxBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/**
 * An app of Hono that refuses requests to other names, and from pages of others, by 403. A body of JSON is in `c.get("parsedBody")`, up to
 * 4 MiB.
 */
export const createMcpHonoApp = (options: CreateMcpHonoAppOptions = {}): Hono => {
  const check = appCheck(options)
  const app = new Hono()
  return app.use(async (context: Context, next) => {
    const { req } = context
    const why = check(req.raw, { host: req.header("host") ?? new URL(req.url).host, origin: req.header("origin") })
    if (why !== undefined) return context.json(refused(why), 403)
    if (isJson(req.header("content-type")) && context.get("parsedBody") === undefined) {
      try {
        const text = await textOf(req.raw)
        if (text !== undefined) context.set("parsedBody", JSON.parse(text))
      } catch {
        return context.text("Invalid JSON", 400)
      }
    }
    await next()
    return undefined
  })
}
