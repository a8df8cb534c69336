/** Rules about clients over Streamable HTTP: headers, sessions, resumed streams. */
import type { Verdict } from "../../model/Rule.ts"
import { show, violated } from "../../rules/judge.ts"
import type { ClientModel, Sent } from "../model/ClientModel.ts"
import type { ClientRule } from "../model/ClientRule.ts"
import { at } from "../../model/json.ts"

const latestStateful = "2025-11-25"
const page = "basic/transports"

/** Judges requests to the endpoint. */
const sent = (
  method: "POST" | "GET",
  check: (sent: Sent, json: unknown, model: ClientModel) => Verdict
): ClientRule["on"] => ({
  Sent: ({ json, sent }, model) =>
    sent.method === method && /mcp\/?$/.test(sent.path) ? check(sent, json, model) : undefined
})

const accepts = ({ headers }: Sent, type: string): boolean =>
  (headers["accept"] ?? "").split(",").some((part) => part.split(";")[0]?.trim().toLowerCase() === type)

/** True for requests after a handshake that may have succeeded. */
const isLater = (json: unknown, { impossible, phase, stateless }: ClientModel): boolean =>
  !stateless && !impossible && (phase === "open" || phase === "ready") && at(json, "method") !== "initialize"

const versionHeader = (check: (given: string | undefined, model: ClientModel) => Verdict): ClientRule["on"] => ({
  Sent: ({ json, sent: { headers } }, model) =>
    isLater(json, model) ? check(headers["mcp-protocol-version"], model) : undefined
})

const rules: ReadonlyArray<ClientRule> = [
  {
    name: "client-post-accept",
    level: "MUST",
    requirement: "http.post.accept",
    section: `${page}#sending-messages-to-the-server`,
    text: "A POST has an `Accept` header with `application/json` and `text/event-stream`.",
    since: "2025-03-26",
    on: sent("POST", (sent) =>
      accepts(sent, "application/json") && accepts(sent, "text/event-stream")
        ? "pass"
        : violated(`The header is ${show(sent.headers["accept"])}`)
    )
  },
  {
    name: "client-get-accept",
    level: "MUST",
    requirement: "http.get.accept",
    section: `${page}#listening-for-messages-from-the-server`,
    text: "A GET accepts `text/event-stream`.",
    since: "2025-03-26",
    until: latestStateful,
    on: sent("GET", (sent) =>
      accepts(sent, "text/event-stream") ? "pass" : violated(`The header is ${show(sent.headers["accept"])}`)
    )
  },
  {
    name: "client-post-single",
    level: "MUST",
    requirement: "http.post.body-single",
    section: `${page}#sending-messages-to-the-server`,
    text: "The body of a POST is a single message.",
    since: "2025-06-18",
    on: sent("POST", ({ body }, json) => (Array.isArray(json) ? violated(`The body is ${show(body)}`) : "pass"))
  },
  {
    name: "client-session-sent",
    level: "MUST",
    requirement: "http.session.id-sent",
    section: `${page}#session-management`,
    text: "A client that was given a session id sends it with every later request.",
    since: "2025-03-26",
    until: latestStateful,
    on: {
      Sent: ({ json, sent: { headers, method } }, model) => {
        const { session } = model
        if (session === undefined || !isLater(json, model)) return undefined
        const given = headers["mcp-session-id"]
        // A request of the previous session may still be on its way.
        if (given === session || (given !== undefined && model.expired.has(given))) return "pass"
        return violated(`A ${method} has the session id ${show(given)} and not ${show(session)}`)
      }
    }
  },
  {
    name: "client-reinitializes",
    level: "MUST",
    requirement: "http.session.client-reinitializes",
    section: `${page}#session-management`,
    text: "A client that gets 404 for its session id initializes again without a session id.",
    since: "2025-03-26",
    until: latestStateful,
    on: {
      Sent: ({ json, sent: { headers } }, { expired }) => {
        if (at(json, "method") !== "initialize" || expired.size === 0) return undefined
        const given = headers["mcp-session-id"]
        return given === undefined ? "pass" : violated(`initialize has the session id ${show(given)}`, "without id")
      },
      Ended: (_, { expired, session }) =>
        expired.size > 0 && session === undefined ? violated("No initialize came after status 404") : undefined
    }
  },
  {
    name: "client-session-deleted",
    level: "SHOULD",
    requirement: "http.session.delete",
    section: `${page}#session-management`,
    text: "A client that no longer needs its session sends DELETE with the session id.",
    since: "2025-03-26",
    until: latestStateful,
    on: {
      Ended: ({ ending: { kind } }, { removed, session }) =>
        kind !== "done" || session === undefined
          ? undefined
          : removed
            ? "pass"
            : violated("The client exited without it")
    }
  },
  {
    name: "client-version-header",
    level: "MUST",
    requirement: "http.version.header-sent",
    section: `${page}#protocol-version-header`,
    text: "Every request after initialization carries `MCP-Protocol-Version`.",
    since: "2025-06-18",
    until: latestStateful,
    on: versionHeader((given) => (given === undefined ? violated("The header is missing") : "pass"))
  },
  {
    name: "client-version-negotiated",
    level: "SHOULD",
    requirement: "http.version.header-negotiated",
    section: `${page}#protocol-version-header`,
    text: "The version header carries the negotiated version.",
    since: "2025-06-18",
    until: latestStateful,
    on: versionHeader((given, { agreed }) =>
      given === undefined
        ? undefined
        : given === agreed
          ? "pass"
          : violated(`It is ${show(given)}, and not ${show(agreed)}`)
    )
  },
  {
    name: "client-stream-polled",
    level: "SHOULD",
    requirement: "http.post-stream.client-polls",
    section: `${page}#sending-messages-to-the-server`,
    text: "A client reconnects to a stream whose connection was closed before the stream ended.",
    since: "2025-11-25",
    until: "2025-11-25",
    on: {
      Ended: (_, { cuts }) => {
        const left = cuts.find(({ resumed }) => !resumed)
        if (cuts.length === 0) return undefined
        return left === undefined ? "pass" : violated(`The stream behind ${left.lastEventId} is not resumed`)
      }
    }
  },
  {
    name: "client-retry-respected",
    level: "MUST",
    requirement: "http.post-stream.retry-respected",
    section: `${page}#sending-messages-to-the-server`,
    text: "A client waits for the time in `retry` before it reconnects.",
    since: "2025-11-25",
    until: "2025-11-25",
    on: {
      Resumed: ({ at, cut }) => {
        if (cut === undefined) return undefined
        const waited = at - cut.at
        // Timers may fire slightly early.
        return waited >= cut.retry * 0.9 - 5
          ? "pass"
          : violated(`It waits ${Math.round(waited)} ms instead of ${cut.retry}`)
      }
    }
  },
  {
    name: "client-last-event-id",
    level: "SHOULD",
    requirement: "http.resume.last-event-id",
    section: `${page}#resumability-and-redelivery`,
    text: "A client resumes with a GET that carries the id of the last event.",
    since: "2025-03-26",
    until: latestStateful,
    on: {
      Resumed: ({ cut, lastEventId }) =>
        cut === undefined ? violated(`No stream was cut behind the event ${show(lastEventId)}`) : "pass"
    }
  }
]

export const http = rules.map((rule): ClientRule => ({ ...rule, transport: "http" }))
