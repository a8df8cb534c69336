/** Rules of Streamable HTTP with sessions (2025-03-26 to 2025-11-25): ids, GET streams, resuming, the version header, origins. */
import { isStream, isTaken } from "../model/Call.ts"
import type { Rule } from "../model/Rule.ts"
import { finished, isForeign, isResponse, responded, streamed, told } from "./http.ts"
import { show, violated } from "./judge.ts"
import { at, parse } from "../model/json.ts"

const common = { since: "2025-03-26", until: "2025-11-25", transport: "http" } as const
const latest = "2025-11-25"
const sessionId = "mcp-session-id"

const sessions: ReadonlyArray<Rule> = [
  {
    ...common,
    name: "http-session-ascii",
    level: "MUST",
    requirement: "http.session.id-ascii",
    section: "basic/transports#session-management",
    text: "A session id has visible ASCII characters only (0x21 to 0x7E).",
    on: responded(({ answered }) => {
      const id = answered[sessionId]
      return id === undefined
        ? undefined
        : /^[\x21-\x7e]+$/.test(id)
          ? "pass"
          : violated(`The session has the id ${show(id)}`)
    })
  },
  {
    ...common,
    name: "http-session-unique",
    level: "SHOULD",
    requirement: "http.session.id-secure",
    section: "basic/transports#session-management",
    text: "A session id is globally unique and cannot be guessed.",
    on: responded(({ answered, exchange, status }, isNewId) => {
      const id = answered[sessionId]
      if (id === undefined || exchange?.method !== "initialize" || !isTaken({ status })) return undefined
      if (!isNewId) return violated(`Two sessions have the id ${show(id)}`, "unique")
      return id.length < 8 ? violated(`The session id ${show(id)} can be guessed`, "short") : "pass"
    })
  },
  {
    ...common,
    name: "http-session-required",
    level: "SHOULD",
    requirement: "http.session.id-required",
    section: "basic/transports#session-management",
    text: "A server that requires a session id answers 400 to a request without one, except for `initialize`.",
    on: responded((call) => {
      const { exchange, needsSession, session, status } = call
      if (!needsSession || session !== "none" || exchange === undefined || exchange.method === "initialize")
        return undefined
      return status === 400
        ? "pass"
        : violated(`${told(call)} without the session id is answered with status ${status}`, `${status}`)
    })
  },
  {
    ...common,
    name: "http-session-ended",
    level: "MUST",
    requirement: "http.session.terminated-404",
    section: "basic/transports#session-management",
    text: "A request with the id of a terminated session is answered with 404.",
    on: responded((call) =>
      // A server may reject wrong headers or an invalid body before it looks up the session.
      call.session !== "ended" || !call.right || call.carries === "other" || call.carries === "batch"
        ? undefined
        : call.status === 404
          ? "pass"
          : violated(`${told(call)} in a session that was deleted is answered with status ${call.status}`)
    )
  },
  {
    ...common,
    name: "http-session-unknown",
    level: "robustness",
    text: "A request with a session id that the server never issued is rejected.",
    on: responded((call) =>
      call.session !== "unknown" || !call.needsSession
        ? undefined
        : isTaken(call)
          ? violated(`${told(call)} in the session ${show(call.headers[sessionId])} is answered with ${call.status}`)
          : "pass"
    )
  }
]

const streams: ReadonlyArray<Rule> = [
  {
    ...common,
    name: "http-get",
    level: "MUST",
    requirement: "http.get.sse-or-405",
    section: "basic/transports#listening-for-messages-from-the-server",
    text: "A GET is answered with `text/event-stream` or with status 405.",
    on: responded((call) => {
      // Before `initialize`, a server that requires session ids rejects every request.
      if (
        call.method !== "GET" ||
        !call.right ||
        !call.isOpen ||
        call.resumes !== undefined ||
        call.session === "ended" ||
        call.overtaken
      )
        return undefined
      return call.status === 405 || (call.status === 200 && isStream(call))
        ? "pass"
        : violated(`A GET is answered with status ${call.status}`, `${call.status}`)
    })
  },
  {
    ...common,
    name: "http-get-silent",
    level: "MUST",
    requirement: "http.get.no-response",
    section: "basic/transports#listening-for-messages-from-the-server",
    text: "A GET's stream carries no response unless it resumes the stream of an earlier request.",
    on: streamed(({ call, event: { data } }) => {
      if (call.method !== "GET" || call.resumes?.method === "POST") return undefined
      const json = parse(data)
      return isResponse(json) ? violated(`The stream of a GET carries ${show(json)}`) : "pass"
    })
  },
  {
    ...common,
    name: "http-event-id-unique",
    level: "MUST",
    requirement: "http.resume.event-id-unique",
    section: "basic/transports#resumability-and-redelivery",
    text: "An event id is unique across all streams of its session, or of its client if there are no sessions.",
    on: streamed(({ call, event: { data, id }, sameId }) =>
      id === undefined || id === ""
        ? undefined
        : sameId === undefined || call.resumes !== undefined
          ? "pass"
          : violated(`The event ${show(data)} of ${told(call)} has the id ${show(id)} of an event of ${told(sameId)}`)
    )
  },
  {
    ...common,
    name: "http-resume-own",
    level: "MUST",
    requirement: "http.resume.own-stream-only",
    section: "basic/transports#resumability-and-redelivery",
    text: "A resumed stream never replays messages of another stream.",
    on: streamed(({ call: { resumes }, event: { data }, sameData }) => {
      if (resumes === undefined) return undefined
      const json = parse(data)
      const isOther = sameData !== undefined && sameData !== resumes && sameData.resumes !== resumes
      const isForeign = isResponse(json) && JSON.stringify(at(json, "id")) !== JSON.stringify(resumes.exchange?.id)
      return (isOther && isResponse(json)) || isForeign
        ? violated(`The stream of ${told(resumes)}, resumed, carries ${show(json)}`)
        : "pass"
    })
  },
  {
    ...common,
    name: "http-stream-primed",
    level: "SHOULD",
    requirement: "http.post-stream.priming-event",
    section: "basic/transports#sending-messages-to-the-server",
    text: "The stream of a POST starts with an event that has an id and empty data, so that the client can resume.",
    since: latest,
    on: streamed(({ call, event: { data, id } }) => {
      if (call.method !== "POST" || call.events !== 1) return undefined
      return data === "" && id !== undefined && id !== ""
        ? "pass"
        : violated(`The first event of ${told(call)} has the id ${show(id)} and the data ${show(data)}`)
    })
  },
  {
    ...common,
    name: "http-stream-retry",
    level: "SHOULD",
    requirement: "http.post-stream.retry-sent",
    section: "basic/transports#sending-messages-to-the-server",
    text: "A server that closes a connection before its stream ended sends a `retry` field first.",
    since: latest,
    on: finished((call) => {
      const { exchange, lastEventId, method, retry } = call
      if (method !== "POST" || !isStream(call) || lastEventId === undefined || exchange === undefined) return undefined
      if (exchange.answer !== undefined || exchange.cancelled) return undefined
      return retry === undefined ? violated(`The connection of ${told(call)} is closed without \`retry\``) : "pass"
    })
  }
]

const headers: ReadonlyArray<Rule> = [
  {
    ...common,
    name: "http-version-invalid",
    level: "MUST",
    requirement: "http.version.header-invalid",
    section: "basic/transports#protocol-version-header",
    text: "An invalid or unsupported version header is answered with 400.",
    since: "2025-06-18",
    on: responded((call) => {
      const version = call.headers["mcp-protocol-version"]
      // Only dates that no revision has.
      if (version === undefined || version.startsWith("20") || call.session !== "own" || call.overtaken)
        return undefined
      return call.status === 400
        ? "pass"
        : violated(`${told(call)} in the version ${show(version)} is answered with status ${call.status}`, call.method)
    })
  },
  {
    ...common,
    name: "http-origin-validated",
    level: "MUST",
    requirement: "http.origin.validated",
    section: "basic/transports#security-warning",
    text: "A server validates the `Origin` header of every incoming connection.",
    until: "2025-06-18",
    on: responded((call) =>
      !isForeign(call)
        ? undefined
        : isTaken(call)
          ? violated(`${told(call)} is answered with status ${call.status}`)
          : "pass"
    )
  }
]

export const httpSessions: ReadonlyArray<Rule> = [...sessions, ...streams, ...headers]
