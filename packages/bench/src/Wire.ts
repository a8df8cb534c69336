/**
 * What the load says and how its answers are checked: requests of both eras, the messages of a body, and whether they are right.
 *
 * Owns the parsing of answers: the types here are what is looked at, not what a peer may send. Every answer is checked: a wrong
 * one counts as none.
 */
export const stateful = "2025-11-25"
export const stateless = "2026-07-28"
/** How a server is spoken to: after `initialize`, or with everything in each request. */
export type Era = "2025" | "2026"

const declared = {
  "io.modelcontextprotocol/protocolVersion": stateless,
  "io.modelcontextprotocol/clientInfo": { name: "driver", version: "1.0.0" },
  "io.modelcontextprotocol/clientCapabilities": {}
}

export interface Message {
  readonly id?: number | null
  readonly method?: string
  readonly params?: { readonly progressToken?: string; readonly progress?: number }
  readonly error?: object
  readonly result?: {
    readonly isError?: boolean
    readonly protocolVersion?: string
    readonly content?: ReadonlyArray<{ readonly text?: string }>
    readonly structuredContent?: { readonly sum?: number }
    readonly tools?: ReadonlyArray<{ readonly inputSchema?: { readonly type?: string } }>
    readonly contents?: ReadonlyArray<{ readonly text?: string }>
  }
}

export interface Request {
  readonly method: string
  /** What a header repeats of it. */
  readonly name?: string
  readonly params: object
}

interface Kind {
  /** `i` makes each request of a run different. */
  readonly build: (i: number) => Request
  /** What is wrong with the answer, if something is. */
  readonly fault: (answer: Message, i: number, before: ReadonlyArray<Message>) => string | undefined
}

const text = (answer: Message): string => answer.result?.content?.[0]?.text ?? ""
/** Some implementations put the JSON of a text where others put the text. */
const says = (found: string, wanted: string): boolean =>
  found === wanted || (found.length === wanted.length + 2 && found === JSON.stringify(wanted))
const call = (name: string, input: object, meta?: object): Request => ({
  method: "tools/call",
  name,
  params: { name, arguments: input, ...(meta === undefined ? undefined : { _meta: meta }) }
})
const mebibyte = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_".repeat((1 << 20) / 64)
/** Notifications per `flood`. */
export const floods = 1000

const sumOf = (i: number, answer: Message): boolean =>
  answer.result?.structuredContent?.sum === i + 7 && text(answer) === JSON.stringify({ sum: i + 7 })

const makeKinds = <K extends string>(made: Record<K, Kind>): Record<K, Kind> => made
export const kinds = makeKinds({
  /** Plain and structured results by turns. */
  call: {
    build: (i) => (i % 2 === 1 ? call("add", { a: i, b: 7 }) : call("echo", { text: `hello ${i}` })),
    fault: (answer, i) => {
      if (answer.result === undefined || answer.result.isError === true) return "no result"
      return (i % 2 === 1 ? sumOf(i, answer) : says(text(answer), `hello ${i}`)) ? undefined : "another result"
    }
  },
  list: {
    build: () => ({ method: "tools/list", params: {} }),
    fault: ({ result }) =>
      result?.tools?.length === Number(process.env["BENCH_TOOLS"] ?? 50) &&
      result.tools.every((tool) => tool.inputSchema?.type === "object")
        ? undefined
        : `${result?.tools?.length} tools`
  },
  read: {
    build: () => ({ method: "resources/read", name: "bench://readme", params: { uri: "bench://readme" } }),
    fault: ({ result }) => (result?.contents?.[0]?.text === "hello resource" ? undefined : "other contents")
  },
  big: {
    build: () => call("echo", { text: mebibyte }),
    fault: (answer) => (says(text(answer), mebibyte) ? undefined : "another text")
  },
  flood: {
    build: (i) => call("flood", { n: floods }, { progressToken: `tok${i}` }),
    fault: (answer, i, before) => {
      if (text(answer) !== "done") return "not done"
      const progress = before.filter(
        ({ method, params }) => method === "notifications/progress" && params?.progressToken === `tok${i}`
      )
      if (progress.length !== floods) return `${progress.length} notifications`
      return progress.every(({ params }, k) => params?.progress === k + 1) ? undefined : "notifications out of order"
    }
  }
})
export type Kinds = keyof typeof kinds

/** The JSON of a request. */
export const encode = (id: number, { method, params }: Request, era: Era): string => {
  if (era === "2025") return JSON.stringify({ jsonrpc: "2.0", id, method, params })
  const meta = "_meta" in params ? params._meta : undefined
  return JSON.stringify({
    jsonrpc: "2.0",
    id,
    method,
    params: { ...params, _meta: { ...(typeof meta === "object" ? meta : undefined), ...declared } }
  })
}

export const initialize: Request = {
  method: "initialize",
  params: { protocolVersion: stateful, capabilities: {}, clientInfo: { name: "driver", version: "1.0.0" } }
}
export const initialized = JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })

/** The messages of a JSON text; only these fields of them are read. */
export const parse = (json: string): ReadonlyArray<Message> => {
  const parsed = JSON.parse(json) as Message | ReadonlyArray<Message>
  return isBatch(parsed) ? parsed : [parsed]
}
const isBatch = (parsed: Message | ReadonlyArray<Message>): parsed is ReadonlyArray<Message> => Array.isArray(parsed)

/** The messages of a body of either content type. */
export const messages = (contentType: string, body: string): ReadonlyArray<Message> => {
  if (!contentType.startsWith("text/event-stream")) return parse(body)
  const out: Array<Message> = []
  let data = ""
  for (const line of `${body}\n\n`.split("\n")) {
    if (line.startsWith("data:")) data += line.slice(line[5] === " " ? 6 : 5)
    else if ((line === "" || line === "\r") && data.trim() !== "") {
      out.push(...parse(data))
      data = ""
    }
  }
  return out
}

/** Throws unless the messages are the right answer to request `id`, and what may precede it. */
export const verify = (kind: Kinds, received: ReadonlyArray<Message>, id: number): void => {
  const answer = received.find((message) => message.id === id && message.method === undefined)
  if (answer === undefined) throw new Error(`No answer to ${id} in ${JSON.stringify(received).slice(0, 300)}`)
  const fault = kinds[kind].fault(
    answer,
    id,
    received.filter((message) => message !== answer)
  )
  if (fault !== undefined) throw new Error(`${kind}: ${fault}: ${JSON.stringify(answer).slice(0, 300)}`)
}
