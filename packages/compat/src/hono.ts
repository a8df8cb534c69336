/** The API of `@modelcontextprotocol/hono`: an app that parses JSON and admits only requests to its own host names. */
import { type Context, Hono } from "hono"
import { appCheck, type AppNames, refused } from "./http/validation.ts"

export interface CreateMcpHonoAppOptions extends AppNames {}

const maxBytes = 4 * 1024 * 1024

const isJson = (type: string | undefined): boolean => /^\s*application\/json\s*(;|$)/i.test(type ?? "")

/** Returns a copy of the body, or `undefined` if it is too large. The endpoint then rejects it. */
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
 * Creates a Hono app. It answers 403 to requests for other hosts and to requests from other sites' pages. `c.get("parsedBody")` holds a
 * JSON body of up to 4 MiB.
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
