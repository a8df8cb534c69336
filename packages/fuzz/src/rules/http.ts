/** Rules of Streamable HTTP for every revision that has it. */
import { type Call, isStream, isTaken, typeOf } from "../model/Call.ts"
import type { Observations } from "../model/Observation.ts"
import type { RuleHandlers, Rule, Verdict } from "../model/Rule.ts"
import { show, violated } from "./judge.ts"
import { at, parse } from "../model/json.ts"

const since = "2025-03-26"
const transport = "http"

/** Judges complete responses. */
export const finished = (check: (call: Call) => Verdict): RuleHandlers => ({ Finished: ({ call }) => check(call) })
/** Judges responses as soon as their head has arrived. */
export const responded = (check: (call: Call, isNewId: boolean) => Verdict): RuleHandlers => ({
  Responded: ({ call, isNewId }) => check(call, isNewId)
})
export const streamed = (check: (streamed: Observations["Streamed"]) => Verdict): RuleHandlers => ({ Streamed: check })

/** True if the request's `Origin` certainly belongs to another site. */
export const isForeign = ({ headers: { origin } }: Call): boolean =>
  origin === "null" || (origin !== undefined && /^https?:\/\/[^/]*\.invalid(?::\d+)?$/.test(origin))

/** Describes a request in a report. */
export const told = ({ exchange, headers, method }: Call): string => {
  const origin = headers["origin"] === undefined ? "" : ` from ${headers["origin"]}`
  return `${method}${exchange === undefined ? "" : ` of ${exchange.method}`}${origin}`
}

export const isResponse = (json: unknown): boolean =>
  at(json, "method") === undefined && (at(json, "result") !== undefined || at(json, "error") !== undefined)

const messages: ReadonlyArray<Rule> = [
  {
    name: "http-accepted",
    level: "MUST",
    requirement: "http.post.accepted",
    section: "basic/transports#sending-messages-to-the-server",
    text: "An accepted message that needs no response is answered with status 202 and no body.",
    since,
    transport,
    on: finished((call) => {
      if ((call.carries !== "notification" && call.carries !== "response") || !isTaken(call)) return undefined
      if (at(parse(call.body), "error") !== undefined) return undefined
      return call.status === 202 && call.body === "" && call.events === 0
        ? "pass"
        : violated(
            `A ${call.carries} is answered with status ${call.status}${call.body === "" ? "" : ` and ${show(call.body)}`}`,
            call.carries
          )
    })
  },
  {
    name: "http-not-accepted",
    level: "MUST",
    requirement: "http.post.not-accepted",
    section: "basic/transports#sending-messages-to-the-server",
    text: "A rejected message that needs no response gets an HTTP error status.",
    since,
    transport,
    on: finished(({ body, carries, status }) => {
      if (carries !== "notification" && carries !== "response") return undefined
      if (at(parse(body), "error") === undefined) return undefined
      return isTaken({ status })
        ? violated(`A ${carries} is answered with status ${status} and ${show(parse(body))}`, carries)
        : "pass"
    })
  },
  {
    name: "http-json-or-sse",
    level: "MUST",
    requirement: "http.post.json-or-sse",
    section: "basic/transports#sending-messages-to-the-server",
    text: "A request is answered with `application/json` or with `text/event-stream`.",
    since,
    transport,
    on: finished((call) => {
      if (call.carries !== "request" || !isTaken(call)) return undefined
      const isJson = typeOf(call) === "application/json" && parse(call.body) !== undefined
      return isJson || isStream(call)
        ? "pass"
        : violated(
            `${told(call)} is answered with status ${call.status}, ${typeOf(call) || "no type"} and ${show(call.body)}`
          )
    })
  },
  {
    name: "http-stream-ends",
    level: "SHOULD",
    requirement: "http.post-stream.closes-after-response",
    section: "basic/transports#sending-messages-to-the-server",
    text: "A POST's stream ends once its responses are sent.",
    since,
    transport,
    on: {
      Running: ({ call }) =>
        call.method === "POST" ? violated(`The stream of ${told(call)} stays open after its response`) : undefined,
      Finished: ({ call }) =>
        call.method === "POST" && isStream(call) && call.exchange?.answer !== undefined ? "pass" : undefined
    }
  },
  {
    name: "http-stream-own",
    level: "MUST",
    requirement: "http.post-stream.related",
    section: "basic/transports#sending-messages-to-the-server",
    text: "Messages before the response on a POST's stream relate to the POST's request.",
    since,
    softerUntil: "2025-11-25",
    transport,
    on: streamed(({ call: { exchange }, event }) => {
      if (exchange === undefined) return undefined
      const json = parse(event.data)
      const [own, other, noun] = isResponse(json)
        ? [exchange.id, at(json, "id"), "the response with the id"]
        : at(json, "method") === "notifications/progress"
          ? [exchange.token, at(json, "params", "progressToken"), "progress of"]
          : []
      if (noun === undefined || other === undefined || other === null) return undefined
      return JSON.stringify(own) === JSON.stringify(other)
        ? "pass"
        : violated(`The stream of ${exchange.method} carries ${noun} ${show(other)}`)
    })
  },
  {
    name: "http-one-stream",
    level: "MUST",
    requirement: "http.streams.one-per-message",
    section: "basic/transports#multiple-connections",
    text: "Each message of a server goes out on exactly one stream.",
    since,
    until: "2025-11-25",
    transport,
    on: streamed(({ call, event, sameData }) => {
      const json = parse(event.data)
      // Two notifications may be equal, and so may two responses if the client reuses an id.
      if (at(json, "id") === undefined || (call.exchange !== undefined && isResponse(json))) return undefined
      return sameData === undefined || sameData === call || call.resumes !== undefined
        ? "pass"
        : violated(`The streams of ${told(sameData)} and of ${told(call)} both carry ${show(json)}`)
    })
  }
]

const robust: ReadonlyArray<Rule> = [
  {
    name: "http-no-failure",
    level: "robustness",
    text: "No request is answered with a status of 500 or above, which means that the server failed.",
    transport,
    on: responded((call) =>
      (call.status ?? 0) >= 500
        ? violated(`${told(call)} with ${show(call.headers)} is answered with status ${call.status}`, call.method)
        : "pass"
    )
  },
  {
    name: "http-refusal-fits",
    level: "robustness",
    text: "An HTTP error status carries no result.",
    transport,
    on: finished((call) =>
      isTaken(call)
        ? undefined
        : at(parse(call.body), "result") === undefined
          ? "pass"
          : violated(`${told(call)} is answered with status ${call.status} and ${show(parse(call.body))}`)
    )
  },
  {
    name: "sse-message-events",
    level: "robustness",
    text: "Messages are SSE events of type `message`: clients ignore other types.",
    transport,
    on: streamed(({ call, event: { data, event } }) =>
      event === "message"
        ? "pass"
        : at(parse(data), "jsonrpc") === undefined
          ? undefined
          : violated(`The stream of ${told(call)} has an event of the type ${show(event)}: ${show(data)}`)
    )
  },
  {
    name: "sse-json",
    level: "robustness",
    text: "The data of an SSE event is a message or empty.",
    transport,
    on: streamed(({ call, event: { data, event } }) =>
      data === "" || event !== "message"
        ? undefined
        : parse(data) === undefined
          ? violated(`The stream of ${told(call)} has the data ${show(data)}`)
          : "pass"
    )
  }
]

export const http: ReadonlyArray<Rule> = [...messages, ...robust]
