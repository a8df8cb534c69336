/**
 * The messages that the load sends in both eras, and the checks of their answers.
 *
 * Every answer is parsed and checked, and a wrong answer does not count. The types here only cover the fields that are checked.
 */
export const stateful = "2025-11-25"
export const stateless = "2026-07-28"
/** Era of the requests: after `initialize`, or with everything in each request. */
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
    readonly status?: string
    readonly taskId?: string
    /** A new task (2025). */
    readonly task?: { readonly taskId?: string }
    /** Result of a task (2026). */
    readonly result?: {
      readonly content?: ReadonlyArray<{ readonly text?: string }>
      readonly structuredContent?: { readonly values?: ReadonlyArray<number> }
    }
    /** Error of a task that failed. */
    readonly error?: { readonly message?: string }
    /** The task's questions. */
    readonly inputRequests?: Readonly<Record<string, unknown>>
  }
}

export interface Request {
  readonly method: string
  /** The value that a header repeats. */
  readonly name?: string
  readonly params: object
}

interface Kind {
  /** Builds the ith request of a run. */
  readonly build: (i: number, era: Era) => Request
  /** Returns the next request after an answer, or `undefined` after the last, for loads of several requests. */
  readonly next?: (answer: Message, request: Request) => Request | undefined
  /** Returns the error in the answer, or `undefined` if it is correct. */
  readonly fault: (answer: Message, i: number, before: ReadonlyArray<Message>) => string | undefined
}

const text = (answer: Message): string => answer.result?.content?.[0]?.text ?? ""
/** Compares texts. Some implementations send a text as a JSON string. */
const says = (found: string, wanted: string): boolean =>
  found === wanted || (found.length === wanted.length + 2 && found === JSON.stringify(wanted))
const call = (name: string, input: object, meta?: object): Request => ({
  method: "tools/call",
  name,
  params: { name, arguments: input, ...(meta === undefined ? undefined : { _meta: meta }) }
})
const withTasks = {
  "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } }
}
const ofTask = (method: string, taskId: string | undefined, { params }: Request): Request => ({
  method,
  name: taskId ?? "",
  params: { taskId, ...("_meta" in params ? { _meta: params._meta } : undefined) }
})
/** Calls a tool as a task of either generation. */
const asTask = (name: string, input: object, era: Era): Request => {
  const request = call(name, input, era === "2025" ? undefined : withTasks)
  return era === "2025" ? { ...request, params: { ...request.params, task: {} } } : request
}
/** Fetches the result of a created task, which waits for the end (2025). */
const resultOfTask: NonNullable<Kind["next"]> = ({ result }, request) => {
  const made = result?.task?.taskId
  return made === undefined ? undefined : ofTask("tasks/result", made, request)
}
/** Reads a created task. In 2025, then fetches its result. In 2026, reads the task until it has ended, because the result comes with it. */
const afterTask: NonNullable<Kind["next"]> = ({ result }, request) => {
  const made = result?.task?.taskId
  if (made !== undefined) return ofTask("tasks/get", made, request)
  if (request.method === "tasks/result" || result?.taskId === undefined) return undefined
  const isModern = "_meta" in request.params
  if (!isModern) return ofTask("tasks/result", result.taskId, request)
  return result.status === "working" ? ofTask("tasks/get", result.taskId, request) : undefined
}
const small = (era: Era, left: number): Request => ({
  method: era === "2025" ? "ping" : "resources/list",
  params: { left }
})
const mebibyte = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_".repeat((1 << 20) / 64)
/** Notifications per `flood`. */
export const floods = 1000

const sumOf = (i: number, answer: Message): boolean =>
  answer.result?.structuredContent?.sum === i + 7 && text(answer) === JSON.stringify({ sum: i + 7 })

const makeKinds = <K extends string>(made: Record<K, Kind>): Record<K, Kind> => made
export const kinds = makeKinds({
  /** Alternates between plain and structured results. */
  call: {
    build: (i) => (i % 2 === 1 ? call("add", { a: i, b: 7 }) : call("echo", { text: `hello ${i}` })),
    fault: (answer, i) => {
      if (answer.result === undefined || answer.result.isError === true) return "no result"
      return (i % 2 === 1 ? sumOf(i, answer) : says(text(answer), `hello ${i}`)) ? undefined : "another result"
    }
  },
  /** Calls a handler that waits for a timer. */
  wait: {
    build: (i) => call("wait", { text: `hello ${i}` }),
    fault: (answer, i) => (says(text(answer), `hello ${i}`) ? undefined : "another text")
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
  /** An ordinary call of a tool that may become a task. */
  inline: {
    build: (i) => call("report", { text: `hello ${i}` }),
    fault: (answer, i) => (says(text(answer), `hello ${i}`) ? undefined : "another text")
  },
  /** A call as a task, until its result has arrived. */
  task: {
    build: (i, era) => asTask("report", { text: `hello ${i}` }, era),
    next: afterTask,
    fault: ({ result }, i) =>
      says((result?.result ?? result)?.content?.[0]?.text ?? "", `hello ${i}`) ? undefined : "another text"
  },
  /** A task whose state is not read (2025). */
  awaited: {
    build: (i, era) => asTask("report", { text: `hello ${i}` }, era),
    next: resultOfTask,
    fault: (answer, i) => (says(text(answer), `hello ${i}`) ? undefined : "another text")
  },
  /**
   * The same number of requests as `task`, of the smallest kind: the cost of reading and answering them. 2026 has no ping, so it uses lists kept as
   * text.
   */
  floor: {
    build: (_i, era) => small(era, era === "2025" ? 2 : 1),
    next: (_answer, { method, params }) => {
      const { left = 0 }: { readonly left?: number } = params
      return left > 0 ? { method, params: { ...params, left: left - 1 } } : undefined
    },
    fault: ({ result }) => (result === undefined ? "no result" : undefined)
  },
  /** Tasks that stay open. */
  hold: {
    build: (_i, era) => asTask("hold", {}, era),
    fault: ({ result }) => ((result?.taskId ?? result?.task?.taskId) === undefined ? "no task" : undefined)
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

/** Encodes a request as JSON. */
export const encode = (id: number, { method, params }: Request, era: Era): string => {
  if (era === "2025") return JSON.stringify({ jsonrpc: "2.0", id, method, params })
  const meta = "_meta" in params ? params._meta : undefined
  return JSON.stringify({
    jsonrpc: "2.0",
    id,
    method,
    params: { ...params, _meta: { ...declared, ...(typeof meta === "object" ? meta : undefined) } }
  })
}

export const initialize: Request = {
  method: "initialize",
  params: { protocolVersion: stateful, capabilities: {}, clientInfo: { name: "driver", version: "1.0.0" } }
}
export const initialized = JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })

/** Parses the messages in a JSON text. */
export const parse = (json: string): ReadonlyArray<Message> => {
  const parsed = JSON.parse(json) as Message | ReadonlyArray<Message>
  return isBatch(parsed) ? parsed : [parsed]
}
const isBatch = (parsed: Message | ReadonlyArray<Message>): parsed is ReadonlyArray<Message> => Array.isArray(parsed)

/** Parses the messages in a body of either content type. */
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

/** Throws unless the messages are the correct answer to request `id`, after messages that may precede it. */
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
