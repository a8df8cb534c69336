/** HTTP servers with one fault each. Each row names the expected finding. */
import { scaled } from "@effect-mcp/spec/Scale"
import type { Faulty } from "./finds.ts"
import type { Between, Json, Passing } from "./httpTarget.ts"

export interface HttpMutant extends Faulty {
  readonly name: string
  readonly between: Between
}

const json = (body: Json, status = 200, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json", ...headers } })

const bytes = new TextEncoder()

/** A stream of these texts. Without `ends`, it stays open. */
const stream = (texts: ReadonlyArray<string>, ends = true, headers: Record<string, string> = {}) =>
  new Response(
    new ReadableStream({
      start: (controller) => {
        for (const text of texts) controller.enqueue(bytes.encode(text))
        if (ends) controller.close()
      }
    }),
    { headers: { "content-type": "text/event-stream", "x-accel-buffering": "no", ...headers } }
  )

const event = (message: Json, id?: string, type?: string) =>
  `${type === undefined ? "" : `event: ${type}\n`}${id === undefined ? "" : `id: ${id}\n`}data: ${typeof message === "string" ? message : JSON.stringify(message)}\n\n`

const headersOf = (response: Response) => Object.fromEntries(response.headers)

/** Changes the complete responses to a method, or to all methods if it is undefined. */
const answers =
  (
    method: string | undefined,
    change: (answer: Json, response: Response, passing: Passing) => Response | Promise<Response>
  ): Between =>
  () =>
  (passing) =>
    passing.message?.id === undefined || (method !== undefined && passing.message.method !== method)
      ? undefined
      : passing.next().then(async (response) => {
          const text = await response.clone().text()
          return text.startsWith("{") ? change(JSON.parse(text), response, passing) : response
        })

const passed =
  (wanted: (passing: Passing) => boolean, act: (passing: Passing) => Promise<Response>): Between =>
  () =>
  (passing) =>
    wanted(passing) ? act(passing) : undefined

const isNotification = ({ message }: Passing) => message?.method !== undefined && message.id === undefined
const isFuzz = (passing: Passing) => passing.message?.method === "notifications/fuzz"
const has =
  (name: string, value?: string) =>
  ({ request }: Passing) =>
    value === undefined ? request.headers.has(name) : request.headers.get(name) === value
const session = "mcp-session-id"

/** Changes the status of responses, depending on their content. */
const statuses = (status: number, wanted: (answer: Json, passing: Passing) => boolean): Between =>
  answers(undefined, (answer, response, passing) =>
    wanted(answer, passing) ? json(answer, status, headersOf(response)) : response
  )

/** Changes error responses, by their code. */
const codes = (from: number, to: number): Between =>
  answers(undefined, (answer, response) =>
    answer.error?.code === from ? json({ ...answer, error: { ...answer.error, code: to } }, response.status) : response
  )

/** Answers as a stream with these events before and after the response. */
const asStream = (method: string, texts: (answer: Json) => ReadonlyArray<string>, ends = true): Between =>
  answers(method, (answer) => stream(texts(answer), ends))

const other = (answer: Json) => ({ ...answer, id: "of-another-request" })

/** Replaces the server's session ids with the ids that `of` returns. */
const renamed =
  (of: (id: string) => string): Between =>
  () => {
    const real = new Map<string, string>()
    return ({ next, request }) => {
      const given = request.headers.get(session)
      const known = given === null ? undefined : real.get(given)
      return next(known === undefined ? {} : { [session]: known }).then((response) => {
        const id = response.headers.get(session)
        if (id === null) return response
        const name = of(id)
        real.set(name, id)
        const headers = new Headers(response.headers)
        headers.set(session, name)
        return new Response(response.body, { status: response.status, headers })
      })
    }
  }

/** Sends requests without a session, or with an unknown one, to the newest session. */
const generous =
  (wanted: (passing: Passing) => boolean): Between =>
  () => {
    let newest = ""
    return (passing) =>
      passing.message?.method === "initialize"
        ? passing.next().then((response) => {
            newest = response.headers.get(session) ?? newest
            return response
          })
        : wanted(passing)
          ? passing.next({ [session]: newest })
          : undefined
  }

const messages: ReadonlyArray<HttpMutant> = [
  {
    name: "answers notifications with status 200",
    finds: "http-accepted notification",
    between: passed(isNotification, (passing) => passing.next().then(() => new Response(null, { status: 200 })))
  },
  {
    name: "answers notifications with status 204",
    finds: "http-accepted notification",
    between: passed(isNotification, (passing) => passing.next().then(() => new Response(null, { status: 204 })))
  },
  {
    name: "answers notifications with a body",
    finds: "http-accepted notification",
    between: passed(isFuzz, () => Promise.resolve(json({}, 202)))
  },
  {
    name: "rejects notifications with status 200",
    finds: "http-not-accepted notification",
    between: passed(isFuzz, () => Promise.resolve(json({ jsonrpc: "2.0", error: { code: -32600, message: "no" } })))
  },
  {
    name: "sends results as text/plain",
    finds: "http-json-or-sse",
    between: answers(
      "tools/list",
      (answer) => new Response(JSON.stringify(answer), { headers: { "content-type": "text/plain" } })
    )
  },
  {
    name: "cuts results",
    finds: "http-json-or-sse",
    between: answers(
      "tools/list",
      (answer) => new Response(JSON.stringify(answer).slice(0, -5), { headers: { "content-type": "application/json" } })
    )
  },
  {
    name: "leaves streams open",
    finds: "http-stream-ends",
    between: asStream("ping", (answer) => [event(answer)], false)
  },
  {
    name: "answers another request on a request's stream",
    finds: "http-stream-own",
    between: asStream("tools/list", (answer) => [event(other(answer)), event(answer)])
  },
  {
    name: "sends a question on two streams",
    finds: "http-one-stream",
    between: () => {
      const question = { jsonrpc: "2.0", id: "q", method: "ping" }
      return ({ message, next }) =>
        message?.method === "ping" || message?.method === "tools/list"
          ? next().then(async (response) => stream([event(question), event(await response.text())]))
          : undefined
    }
  },
  {
    name: "fails on a wrong content type",
    finds: "http-no-failure",
    between: passed(has("content-type", "text/plain"), () => Promise.resolve(new Response("no", { status: 500 })))
  },
  {
    name: "fails on a GET",
    finds: "http-no-failure GET",
    between: passed(
      ({ request }) => request.method === "GET",
      () => Promise.resolve(new Response("no", { status: 500 }))
    )
  },
  {
    name: "rejects with a result",
    finds: "http-refusal-fits",
    between: statuses(404, ({ result }) => result?.tools !== undefined)
  },
  {
    name: "names its events",
    finds: "sse-message-events",
    between: asStream("tools/list", (answer) => [event(answer, undefined, "mcp"), event(answer)])
  },
  {
    name: "sends events that are not JSON",
    finds: "sse-json",
    between: asStream("ping", (answer) => [event("ready"), event(answer)])
  },
  {
    name: "does not terminate its last event",
    finds: "answer-always ping",
    between: asStream("ping", (answer) => [event(answer).trimEnd()])
  },
  {
    name: "hangs on an accept header",
    finds: "answer-always",
    between: passed(has("accept", "application/json"), () => new Promise<Response>(() => {}))
  },
  {
    name: "breaks connections",
    finds: "survives",
    between: passed(has("accept", "text/plain"), () => Promise.reject(new Error("reset")))
  }
]

const batches: ReadonlyArray<HttpMutant> = [
  {
    name: "rejects batches with status 400",
    finds: "batch-answered",
    between: passed(
      ({ message }) => Array.isArray(message),
      () => Promise.resolve(json({ jsonrpc: "2.0", id: null, error: { code: -32600, message: "no" } }, 400))
    )
  },
  {
    name: "answers a batch of notifications with status 200",
    finds: "http-accepted notification",
    between: passed(
      ({ message }) => Array.isArray(message) && message.every((each: Json) => each?.method && each.id === undefined),
      () => Promise.resolve(new Response(null, { status: 200 }))
    )
  }
].map((mutant) => ({ ...mutant, revision: "2025-03-26" as const }))

const sessions: ReadonlyArray<HttpMutant> = [
  { name: "uses non-ASCII session ids", finds: "http-session-ascii", between: renamed((id) => `${id}\u00fc`) },
  {
    name: "uses one session id for all clients",
    finds: "http-session-unique unique",
    between: renamed(() => "fuzz-same-session")
  },
  {
    name: "uses sequential session ids",
    finds: "http-session-unique short",
    between: () => {
      let count = 0
      return renamed(() => `${++count}`)()
    }
  },
  {
    name: "answers 404 without a session id",
    finds: "http-session-required 404",
    between: answers(undefined, (answer, response, { request }) =>
      response.status === 400 && !request.headers.has(session) ? json(answer, 404) : response
    )
  },
  {
    name: "does not require a session id",
    finds: "http-session-required 200",
    between: generous(({ request }) => !request.headers.has(session))
  },
  {
    name: "answers 400 for ended sessions",
    finds: "http-session-ended",
    between: answers(undefined, (answer, response) => (response.status === 404 ? json(answer, 400) : response))
  },
  {
    name: "does not end sessions",
    finds: "http-session-ended",
    between: passed(
      ({ request }) => request.method === "DELETE",
      () => Promise.resolve(new Response(null, { status: 204 }))
    )
  },
  {
    name: "accepts unknown sessions",
    finds: "http-session-unknown",
    between: generous(({ request }) => request.headers.get(session)?.startsWith("fuzz") === true)
  },
  {
    name: "forgets the other sessions",
    finds: "answer-always",
    between: () => {
      let newest = ""
      return ({ message, next, request }) => {
        const id = request.headers.get(session)
        return message?.method === "initialize"
          ? next().then((response) => {
              newest = response.headers.get(session) ?? newest
              return response
            })
          : id !== null && id !== newest && message?.id !== undefined
            ? new Promise<Response>(() => {})
            : undefined
      }
    }
  },
  {
    name: "answers a GET with JSON",
    finds: "http-get",
    between: passed(
      ({ request }) => request.method === "GET",
      () => Promise.resolve(json({}))
    )
  },
  {
    name: "answers a GET with 404",
    finds: "http-get 404",
    between: passed(
      ({ request }) => request.method === "GET",
      () => Promise.resolve(new Response(null, { status: 404 }))
    )
  },
  {
    name: "answers requests on the GET stream",
    finds: "http-get-silent",
    between: passed(
      ({ request }) => request.method === "GET",
      () => Promise.resolve(stream([event({ jsonrpc: "2.0", id: "r2", result: {} })], false))
    )
  },
  {
    name: "uses one id for all events",
    finds: "http-event-id-unique",
    between: asStream("ping", (answer) => [event("", "1"), event(answer, "2")])
  },
  {
    name: "replays events from another stream",
    finds: "http-resume-own",
    between: passed(
      ({ message, request }) => message?.method === "ping" || request.headers.has("last-event-id"),
      async ({ next, request }) =>
        request.method === "GET"
          ? stream([event({ jsonrpc: "2.0", id: "of-another-request", result: {} }, "9")], false)
          : stream([event("", `e${Math.random()}`), event(await (await next()).text())], false)
    )
  },
  {
    name: "does not prime its streams",
    finds: "http-stream-primed",
    between: asStream("tools/list", (answer) => [event(answer, "a")])
  },
  {
    name: "closes connections without a retry",
    finds: "http-stream-retry",
    between: asStream("prompts/list", () => [event("", `e${Math.random()}`)])
  },
  {
    name: "ignores the version header",
    finds: "http-version-invalid POST",
    between: passed(has("mcp-protocol-version"), ({ next }) => next({ "mcp-protocol-version": null }))
  },
  {
    name: "answers 404 for an unknown version",
    finds: "http-version-invalid POST",
    between: answers(undefined, (answer, response, passing) =>
      has("mcp-protocol-version", "nonsense")(passing) ? json(answer, 404) : response
    )
  },
  {
    name: "ignores the origin",
    finds: "http-origin-forbidden",
    between: passed(has("origin"), ({ next }) => next({ origin: null }))
  },
  {
    name: "answers 400 to a foreign origin",
    finds: "http-origin-forbidden",
    between: passed(has("origin"), () => Promise.resolve(new Response(null, { status: 400 })))
  },
  {
    name: "ignores the origin in old revisions",
    finds: "http-origin-validated",
    revision: "2025-06-18",
    between: passed(has("origin"), ({ next }) => next({ origin: null }))
  }
]

const version = "mcp-protocol-version"
const meta = (message: Json) => message?.params?._meta?.["io.modelcontextprotocol/protocolVersion"]
const revision = "2026-07-28" as const

const headers: ReadonlyArray<HttpMutant> = [
  {
    name: "trusts the body for the version",
    finds: "http-version-mismatch",
    between: passed(
      ({ message }) => meta(message) !== undefined,
      ({ message, next }) => next({ [version]: meta(message) })
    )
  },
  {
    name: "uses the wrong error for a version mismatch",
    finds: "http-version-mismatch",
    between: codes(-32020, -32600)
  },
  {
    name: "rejects versions with status 200",
    finds: "http-version-unsupported",
    between: statuses(200, ({ error }) => error?.code === -32022)
  },
  {
    name: "does not require a version header",
    finds: "http-version-missing",
    between: passed(
      (passing) => !has(version)(passing) && meta(passing.message) !== undefined,
      ({ message, next }) => next({ [version]: meta(message) })
    )
  },
  {
    name: "trusts the body for the method",
    finds: "http-headers-validated",
    between: passed(
      ({ message }) => message?.id !== undefined,
      ({ message, next }) => next({ "mcp-method": message.method })
    )
  },
  {
    name: "does not require a name header",
    finds: "http-headers-mismatch",
    between: passed(
      (passing) => passing.message?.params?.uri !== undefined && !has("mcp-name")(passing),
      ({ message, next }) => next({ "mcp-name": message.params.uri })
    )
  },
  {
    name: "rejects headers with status 422",
    finds: "http-headers-mismatch",
    between: statuses(422, ({ error }) => error?.code === -32020)
  },
  {
    name: "does not decode names",
    finds: "http-headers-decoded",
    between: passed(
      (passing) => passing.request.headers.get("mcp-name")?.startsWith("=?base64?") === true,
      ({ message: { id } }) =>
        Promise.resolve(json({ jsonrpc: "2.0", id, error: { code: -32020, message: "no" } }, 400))
    )
  },
  {
    name: "does not check mirrored arguments",
    finds: "http-params-mismatch count",
    between: passed(
      ({ message }) => message?.params?.name === "count",
      ({ message, next }) => next({ "mcp-param-note": message.params.arguments?.note ?? null })
    )
  },
  {
    name: "answers an unknown method with status 200",
    finds: "http-method-unknown",
    between: statuses(200, ({ error }) => error?.code === -32601)
  },
  {
    name: "uses the wrong error for an unknown method",
    finds: "http-method-unknown",
    between: codes(-32601, -32600)
  },
  {
    name: "answers missing metadata with status 200",
    finds: "http-missing-field",
    between: statuses(200, ({ error }, { message }) => error?.code === -32602 && message.method === "server/discover")
  },
  {
    name: "answers a missing capability with status 200",
    finds: "http-missing-capability",
    between: passed(
      ({ message }) => message?.params?.name === "folders",
      ({ message: { id } }) =>
        Promise.resolve(json({ jsonrpc: "2.0", id, error: { code: -32021, message: "no", data: {} } }))
    )
  },
  {
    name: "does not forbid foreign origins",
    finds: "http-origin-forbidden",
    between: passed(has("origin"), ({ next }) => next({ origin: null }))
  },
  {
    name: "lets its streams be buffered",
    finds: "http-not-buffered",
    between: answers("prompts/list", (answer) => stream([event(answer)], true, { "x-accel-buffering": "yes" }))
  },
  {
    name: "sends a session id",
    finds: "http-no-session",
    between: answers("tools/list", (answer) => json(answer, 200, { [session]: "fuzz-session" }))
  }
].map((mutant) => ({ ...mutant, revision }))

export const httpMutants: ReadonlyArray<HttpMutant> = [...messages, ...batches, ...sessions, ...headers]

/** Faults that need few conversations. `npm test` tries these, and `npm run test:nightly` all. */
const soon = new Set([
  "answers notifications with status 200",
  "sends events that are not JSON",
  "uses one session id for all clients",
  "uses sequential session ids",
  "answers a GET with JSON",
  "does not require a name header",
  "does not decode names",
  "answers a missing capability with status 200",
  "does not forbid foreign origins"
])
export const tried = httpMutants
  .toSorted((a, b) => Number(soon.has(b.name)) - Number(soon.has(a.name)))
  .slice(0, scaled(soon.size, httpMutants.length))
